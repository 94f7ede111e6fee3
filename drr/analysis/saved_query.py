"""Questions in SQL to what was saved, answered by DuckDB (an optional extra)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import pandas as pd

from drr.analysis.saved import Saved
from drr.errors import DrrError

TABLES = ("saved", "runs", "sweeps")
_INSTALL = "DuckDB is not installed: pip install duckdb brings it"


def query(everything: Sequence[Saved], sql: str) -> pd.DataFrame:
    """The answer to a question in SQL.

    There are the tables ``saved`` (name, kind, saved_at, result, rows), ``runs`` (all requests of all runs) and
    ``sweeps`` (all lines of all sweeps), the last two with the column ``saved``, and every saved thing by its name.
    Files and the network are out of reach. Raises :class:`DrrError` for bad SQL, for names that are one in SQL, and
    without DuckDB.
    """
    try:
        duckdb: Any = importlib.import_module("duckdb")
    except ImportError:
        raise DrrError(_INSTALL) from None
    usable = [each for each in everything if not each.problem]
    _check_names(usable)
    tables = {each.name: each.table().assign(saved=each.name) for each in usable}
    with duckdb.connect(":memory:") as connection:
        try:
            for name, frame in _all_tables(usable, tables).items():
                connection.register("_frame", frame)
                connection.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM _frame")
                connection.unregister("_frame")
            connection.execute("SET python_enable_replacements = false")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            relation = connection.sql(sql)
            answer = pd.DataFrame() if relation is None else relation.df()
        except duckdb.Error as error:
            raise DrrError(f"DuckDB says: {error}") from None
    return answer


def _check_names(usable: Sequence[Saved]) -> None:
    """SQL knows no upper and lower case in names, the folder may."""
    known: dict[str, str] = {}
    for each in usable:
        other = known.setdefault(each.name.lower(), each.name)
        if other != each.name:
            raise DrrError(f"{other!r} and {each.name!r} are one name in SQL: save one of them under another")


def _all_tables(usable: Sequence[Saved], tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The three collections, and every table by its name where that is none of theirs."""
    lines = [
        (each.name, each.kind, each.manifest.get("saved_at"), each.line(), each.manifest.get("rows")) for each in usable
    ]
    found = {"saved": pd.DataFrame(lines, columns=["name", "kind", "saved_at", "result", "rows"])}
    for table, kind in (("runs", "run"), ("sweeps", "sweep")):
        of_kind = [tables[each.name] for each in usable if each.kind == kind]
        found[table] = (
            pd.concat(of_kind, ignore_index=True) if of_kind else pd.DataFrame({"saved": pd.Series(dtype=str)})
        )
    return {**found, **{name: frame for name, frame in tables.items() if name.lower() not in TABLES}}


def _quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
