"""What Python tells the player about a step, a filter or a timeline, as plain data. Nothing here knows Streamlit."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal, Self, cast, get_args
from weakref import WeakKeyDictionary

from drr.analysis.explain import explain, explain_visit
from drr.analysis.log import log_csv, rows_of
from drr.charts.palette import Theme
from drr.charts.series import Unit, step_axis
from drr.charts.timelines import PANELS, PanelName, timeline_figure
from drr.simulation.recording import Run
from drr.simulation.state import StepKind
from drr.ui.player.blob import write_blob
from drr.ui.player.pack import WIDTHS

MOST_REASONS = 40
"""So many reasons are given at once; the log shows nine rows."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the browser shows, as it says itself: checked, since it comes from outside.

    ``visit`` is the class visit under the playhead, -1 for the step as a whole; ``log`` are the steps whose reasons are
    missing; ``timeline`` is (panel, unit, width in pixels); ``csv`` asks for a file: number, kinds, class, endpoint;
    ``pressed`` is the last press on a worker: number, endpoint; ``heeded`` is the number of the last request to go
    somewhere that was followed.
    """

    step: int
    visit: int = -1
    log: tuple[int, ...] = ()
    timeline: tuple[PanelName, Unit, int] | None = None
    csv: tuple[int, tuple[StepKind, ...] | None, int | None, int | None] | None = None
    pressed: tuple[int, int] | None = None
    heeded: int = 0

    @classmethod
    def of(cls, data: Any, run: Run, run_id: str) -> Self | None:
        """The view that ``data`` describes; None where it is of another run or makes no sense."""
        try:
            return cls._checked(data, run) if data["run"] == run_id else None
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
            return None

    @classmethod
    def _checked(cls, data: Any, run: Run) -> Self:
        step, visit = int(data["step"]), int(data["visit"])
        if not -1 <= step < run.n_steps:
            raise ValueError(step)
        if visit >= 0:
            run.state_at(step).visits[visit]
        log = sorted({int(s) for s in data["log"] if 0 <= int(s) < run.n_steps})[:MOST_REASONS]
        timeline = csv = None
        if data["timeline"]:
            panel, unit, width = (data["timeline"][name] for name in ("panel", "unit", "width"))
            if panel not in PANELS or unit not in get_args(Unit) or width not in WIDTHS:
                raise ValueError(panel)
            timeline = (cast("PanelName", panel), cast("Unit", unit), int(width))
        if data["csv"]:
            asked = data["csv"]
            kinds = None if asked["kinds"] is None else tuple(StepKind(kind) for kind in asked["kinds"])
            index, endpoint = (int(asked[name]) for name in ("class_index", "endpoint"))
            csv = (int(asked["number"]), kinds, index if index >= 0 else None, endpoint if endpoint >= 0 else None)
        pressed = None
        if data.get("pressed"):
            pressed = int(data["pressed"]["number"]), int(data["pressed"]["endpoint"])
            if not 0 <= pressed[1] < len(run.endpoint_names):
                raise ValueError(pressed)
        return cls(
            step=step,
            visit=visit,
            log=tuple(log),
            timeline=timeline,
            csv=csv,
            pressed=pressed,
            heeded=int(data["heeded"]),
        )


def said(run: Run, run_id: str, view: View) -> Message:
    """The sentence of the step or visit, and the reasons the log asked for."""
    if view.visit >= 0:
        visits = len(run.state_at(view.step).visits)
        headline = f"Look {view.visit + 1} of {visits}."
        text = explain_visit(run, view.step, view.visit)
    else:
        explanation = explain(run, view.step)
        headline, text = explanation.headline, explanation.text
    reasons = [(row.step, row.why) for row in rows_of(run, view.log)]
    where = {"run": run_id, "step": view.step, "visit": view.visit}
    return {"kind": "said", **where, "headline": headline, "text": text, "reasons": reasons}


_TimelineKey = tuple[str, PanelName, Unit, int, tuple[tuple[str, int], ...]]
_TIMELINES: WeakKeyDictionary[Run, dict[_TimelineKey, bytes]] = WeakKeyDictionary()


def timeline(
    run: Run,
    run_id: str,
    asked: tuple[PanelName, Unit, int],
    *,
    theme: Theme,
    keep: Mapping[str, int],
) -> bytes:
    """The blob of one timeline; made once per run, theme, panel, unit and width."""
    panel, unit, width = asked
    made = _TIMELINES.setdefault(run, {})
    key = (theme.name, panel, unit, width, tuple(sorted(keep.items())))
    if key not in made:
        figure = timeline_figure(run, theme=theme, width=width, panels=(panel,), unit=unit, keep=keep)
        data = json.loads(figure.to_json())
        # The player has a playhead of its own, which moves without Plotly. (The uid is lost on the way to JSON.)
        mine = [not str(trace.uid).startswith("playhead.") for trace in figure.data]
        shown = {"data": list(compress(data["data"], mine)), "layout": data["layout"]}
        header = {"kind": "timeline", "run": run_id, "panel": panel, "axis": axis_unit(run), "figure": shown}
        made[key] = write_blob(header, {})
    return made[key]


def axis_unit(run: Run) -> Literal["step", "ms", "s"]:
    """What the time axis of the timelines counts."""
    title = step_axis(run)[1]
    return "step" if title == "step" else "s" if title.endswith(" s") else "ms"


def csv(run: Run, asked: tuple[int, tuple[StepKind, ...] | None, int | None, int | None]) -> bytes:
    """The blob of a log as CSV, as the browser filters it."""
    number, kinds, class_index, endpoint = asked
    text = log_csv(run, kinds=kinds, class_index=class_index, endpoint=endpoint)
    return write_blob({"kind": "csv", "number": number, "name": "ringside-log.csv", "text": text}, {})


def message(note: Mapping[str, Any], blob: bytes) -> bytes:
    """A blob with a note in front that the browser can read without inflating it."""
    text = json.dumps(note, separators=(",", ":")).encode()
    return struct.pack("<H", len(text)) + text + blob


def middle_decision(run: Run) -> int:
    """A step in the thick of it, to start with."""
    decisions: Sequence[int] = run.decision_steps
    return decisions[len(decisions) // 2] if decisions else run.n_steps - 1
