"""A sweep as a table: one line per point, seed, cursor rule and class, and the means with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from drr.analysis.compare import interval
from drr.analysis.log import safe_cell, safe_row
from drr.analysis.sweep_figures import COUNTS, FIGURES
from drr.analysis.sweep_running import SweepResult
from drr.errors import DrrError

KEYS = ("point", "seed", "cursor_rule", "policy_class")
PROBLEM = "problem"
HALF_WIDTH = "_95"
"""Ending of the columns that hold half the width of a 95 % confidence interval."""


def sweep_frame(result: SweepResult) -> pd.DataFrame:
    """One line per point, seed, rule and class: the settings, the figures; ``problem`` where there are none.

    Columns: ``point``, one per axis (by its path), ``seed``, ``cursor_rule``, ``policy_class``, the figures of
    :data:`drr.analysis.sweep_figures.FIGURES`, ``problem``.
    """
    axes = axis_columns(result)
    lines: list[tuple[object, ...]] = []
    for trial, found in zip(result.trials, result.results, strict=True):
        settings = dict(trial.point.settings)
        head = (trial.point.number, *(settings[name] for name in axes), trial.seed)
        for row in found.rows:
            lines.append((*head, row.cursor_rule, row.policy_class, *row.values, ""))
        if found.problem:
            lines.append((*head, "", "", *(None,) * len(FIGURES), found.problem))
    columns = ["point", *axes, "seed", "cursor_rule", "policy_class", *FIGURES, PROBLEM]
    frame = pd.DataFrame(lines, columns=columns)
    whole = dict.fromkeys(COUNTS, "Int64")
    return frame.astype({**dict.fromkeys(FIGURES, "Float64"), **whole})


def axis_columns(result: SweepResult) -> list[str]:
    """The axes that are columns of their own; the seed and the cursor rule have one anyway."""
    return [axis.path for axis in result.sweep.axes if axis.path not in KEYS]


def intervals_frame(frame: pd.DataFrame, figures: Sequence[str] = FIGURES) -> pd.DataFrame:
    """Means over the seeds: one line per point, rule and class, each figure followed by half its interval.

    ``seeds`` counts the lines behind a mean. A figure that some seed does not have is left empty, and so is the
    interval of a single seed. Lines with a problem are left out.
    """
    rest = ("seed", PROBLEM, *FIGURES)
    keys = [name for name in frame.columns if name not in rest]
    lines = []
    good = frame[frame[PROBLEM] == ""]
    for key, group in good.groupby(keys, sort=False, dropna=False):
        line: list[object] = [*key, len(group)]
        for figure in figures:
            line += _mean([None if pd.isna(value) else float(value) for value in group[figure]])
        lines.append(line)
    columns = [*keys, "seeds", *(name for figure in figures for name in (figure, figure + HALF_WIDTH))]
    return pd.DataFrame(lines, columns=columns)


def _mean(values: Sequence[float | None]) -> list[float | None]:
    given = [value for value in values if value is not None]
    if not given or len(given) < len(values):
        return [None, None]
    if len(given) == 1:
        return [given[0], None]
    found = interval(given)
    return [found.mean, found.half_width]


def frame_writer(path: Path) -> Callable[[pd.DataFrame, Path], None]:
    """How a table is written to a file of this name: .csv or .parquet; raises :class:`DrrError` for other endings."""
    writers = {".csv": write_sheet, ".parquet": write_parquet}
    if path.suffix not in writers:
        raise DrrError(f"{path}: the name has to end in {' or '.join(writers)}")
    return writers[path.suffix]


def sheet(frame: pd.DataFrame) -> str:
    """A table as CSV for people and their spreadsheets: text that looks like a formula is led by an apostrophe."""
    safe = frame.rename(columns=lambda name: safe_cell(str(name)))
    for name, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            column = safe.iloc[:, name]
            safe.isetitem(name, safe_row(column))
    return safe.to_csv(index=False, lineterminator="\n")


def write_sheet(frame: pd.DataFrame, path: Path) -> None:
    """Write :func:`sheet` to a file."""
    path.write_text(sheet(frame), encoding="utf-8", newline="")


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV for programs: everything is read as the very same. For people there is :func:`sheet`."""
    frame.to_csv(path, index=False, lineterminator="\n")


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet."""
    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        raise DrrError("Parquet needs pyarrow (pip install pyarrow); .csv needs nothing") from None
