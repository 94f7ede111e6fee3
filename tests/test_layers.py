"""The rooms of the house: a lower one never imports a higher one, and each knows only the libraries it may know."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import ROOT

# Lowest first. A room may import itself and every room before it.
ROOMS = (
    *("errors", "policy", "scheduler", "router", "simulation", "workload"),
    *("analysis", "dynamo", "charts", "ui", "cli", "app", "pages"),
)
COLUMNS = frozenset({"numpy", "pandas", "pyarrow"})
# Libraries beside the standard one that a room may import at the top of a file ...
EAGER: dict[str, frozenset[str]] = {
    "policy": frozenset({"yaml"}),
    "workload": frozenset({"yaml"}),
    "analysis": frozenset({"numpy", "pandas"}),
    "charts": frozenset({"numpy", "pandas", "plotly"}),
    "ui": frozenset({"numpy", "pandas", "plotly", "streamlit", "watchdog"}),
    "app": frozenset({"streamlit"}),
    "pages": frozenset({"numpy", "pandas", "plotly", "streamlit"}),
}
# ... and those it may import only inside a function (or for type checkers), so that nobody pays for them unasked.
LAZY: dict[str, frozenset[str]] = {
    "simulation": COLUMNS,
    "workload": COLUMNS,
    "analysis": frozenset({"dask", "distributed", "duckdb", "joblib", "pyarrow"}),
    "dynamo": COLUMNS | {"dynamo"},
    "charts": frozenset({"PIL", "kaleido"}),
    "cli": COLUMNS,
    "pages": frozenset({"pyarrow"}),
}


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, absolute; ``lazy`` where it stands in a function or is there for type checkers only."""

    module: str
    line: int
    lazy: bool


def room_of(path: str) -> str | None:
    """The room of a file, given relative to the project; None where the house has no such room.

    ``drr/__init__.py`` and ``ringside.py`` are doors: the first may open nothing but ``errors``, the other the CLI.
    """
    parts = Path(path).parts
    if parts[0] == "drr":
        name = Path(parts[1]).stem
        name = {"__init__": "errors", "__main__": "cli"}.get(name, name)
    else:
        name = {"app.py": "app", "ringside.py": "cli", "pages": "pages"}.get(parts[0], "")
    return name if name in ROOMS else None


def is_for_type_checkers(node: ast.If) -> bool:
    return ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def module_names(node: ast.AST, package: list[str]) -> list[str]:
    """The absolute names a node imports; of ``from a import b`` both ``a`` and ``a.b``, since b may be a module."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            return [base, *(f"{base}.{alias.name}" for alias in node.names)]
        case ast.Call(func=ast.Name(id="__import__" | "import_module"), args=[ast.Constant(value=str(name)), *_]):
            return [name]
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return [name]
    return []


def imports_of(source: str, path: str) -> Iterator[Import]:
    """Every import in ``source``, wherever it stands, with relative ones resolved from ``path``."""
    package = list(Path(path).parent.parts)

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for name in module_names(node, package):
            yield Import(name, node.lineno, lazy)  # type: ignore[attr-defined]
        if isinstance(node, ast.If) and is_for_type_checkers(node):
            for child in node.body:
                yield from walk(child, True)
            for child in node.orelse:
                yield from walk(child, lazy)
            return
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(ast.parse(source), False)


def violations(source: str, path: str) -> list[str]:
    """What ``source`` imports although a file at ``path`` may not, as ``path:line: reason``."""
    room = room_of(path)
    if room is None:
        return [f"{path}: no such room in the house ({', '.join(ROOMS)})"]
    found = {}
    for item in imports_of(source, path):
        reason = reason_against(item, room)
        if reason:
            found[f"{path}:{item.line}: {reason}"] = None
    return list(found)


def reason_against(item: Import, room: str) -> str | None:
    top, _, rest = item.module.partition(".")
    if top == "drr":
        other = rest.split(".")[0]
        if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
            return f"{room} must not import {other}, which lies above it"
        return None
    if top in {"app", "pages", "tests", "benchmarks"}:
        return f"{room} must not import {top}"
    if top in sys.stdlib_module_names or top in EAGER.get(room, ()):
        return None
    if top in LAZY.get(room, ()):
        return None if item.lazy else f"{room} may import {top} only inside a function"
    return f"{room} must not import {top}"


def source_files() -> list[str]:
    paths = [ROOT / "app.py", ROOT / "ringside.py", *ROOT.glob("drr/**/*.py"), *ROOT.glob("pages/**/*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths if "node_modules" not in path.parts)


def test_the_project_has_sources_to_check() -> None:
    assert {"app.py", "drr/errors.py"} <= set(source_files())


@pytest.mark.parametrize("path", source_files())
def test_no_room_imports_from_above_or_from_outside(path: str) -> None:
    assert violations((ROOT / path).read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("drr/policy/reader.py", "from drr.scheduler import ring", "policy must not import scheduler"),
        ("drr/policy/reader.py", "from ..simulation.state import RunState", "policy must not import simulation"),
        ("drr/policy/reader.py", "from .. import charts", "policy must not import charts"),
        ("drr/policy/reader.py", "from drr import ui", "policy must not import ui"),
        ("drr/policy/reader.py", "def f():\n    import drr.cli", "policy must not import cli"),
        ("drr/router/pick.py", "import importlib\nimportlib.import_module('drr.workload')", "must not import workload"),
        ("drr/router/pick.py", "if TYPE_CHECKING:\n    from drr.analysis import x", "router must not import analysis"),
        ("drr/__init__.py", "from drr.policy import load_policy", "errors must not import policy"),
        ("drr/scheduler/ring.py", "import yaml", "scheduler must not import yaml"),
        ("drr/scheduler/ring.py", "def f():\n    import numpy as np", "scheduler must not import numpy"),
        ("drr/simulation/recording.py", "import pandas as pd", "pandas only inside a function"),
        ("drr/analysis/shares.py", "import plotly.graph_objects as go", "analysis must not import plotly"),
        ("drr/charts/stage.py", "import streamlit as st", "charts must not import streamlit"),
        ("drr/cli.py", "def app():\n    import streamlit", "cli must not import streamlit"),
        ("drr/dynamo/replay.py", "from dynamo._core import KvRouterConfig", "dynamo only inside a function"),
        ("drr/ui/player.py", "from dynamo import _core", "ui must not import dynamo"),
        ("drr/ui/player.py", "import pages.lab", "ui must not import pages"),
        ("pages/lab.py", "import requests", "pages must not import requests"),
        ("drr/helpers/misc.py", "", "no such room"),
    ],
)
def test_the_check_finds_a_made_up_violation(path: str, source: str, complaint: str) -> None:
    found = violations(source, path)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("drr/policy/reader.py", "import yaml\nfrom drr.errors import PolicyError\nfrom .schema import Profile"),
        ("drr/policy/__init__.py", "from .schema import Profile\nfrom . import schema"),
        ("drr/simulation/recording.py", "def frame():\n    import pandas as pd\nfrom ..scheduler.ring import Ring"),
        ("drr/simulation/recording.py", "if TYPE_CHECKING:\n    import pandas as pd"),
        ("drr/dynamo/replay.py", "def f():\n    from dynamo._core import KvRouterConfig"),
        ("drr/ui/player.py", "import streamlit as st\nfrom drr.charts.stage import stage_figure"),
        ("pages/lab.py", "import streamlit as st\nfrom drr.ui import player\nfrom drr.simulation import replay"),
    ],
)
def test_the_check_lets_a_proper_import_pass(path: str, source: str) -> None:
    assert violations(source, path) == []
