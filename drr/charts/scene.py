"""Pictures that move with simulated time, and how they do: the ground of the premium demonstration's scenes.

A scene is a Plotly figure of the whole time, a second one of the same size to lay over it, and a plan that says how the
second one follows the time: veils over what is still to come, a playhead, numbers. Only these few paths and texts are
animated, so it is cheap however much there is to see, and the player needs no knowledge of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from drr.analysis.premium import PREMIUM, REGULAR, Moment
from drr.charts.palette import ClassStyle, Theme, class_styles
from drr.charts.series import asked_shares
from drr.charts.stage_traces import text_trace
from drr.charts.words import TextPoint, text_width
from drr.simulation.recording import Run

MARGIN = 16.0
MOST_POINTS = 800
NAMES = ("premium", "regular")
"""The classes of the demonstration, in the order of their indices."""

Trace = dict[str, Any]


@dataclass(slots=True)
class Panel:
    """Axes of one timeline: its place in pixels, and what its y axis shows."""

    left: float
    top: float
    width: float
    height: float
    high: float
    tick_format: str
    has_time_ticks: bool


@dataclass(slots=True)
class Scene:
    """A scene being put together, from the top down; :meth:`to_json` is what a player takes."""

    theme: Theme
    width: int
    scale: float
    duration_ms: float
    panels: list[Panel] = field(default_factory=list)
    lines: list[Trace] = field(default_factory=list)
    still: list[Trace] = field(default_factory=list)
    words: list[TextPoint] = field(default_factory=list)
    covers: list[dict[str, Any]] = field(default_factory=list)
    """Blocks of marks that appear in time, row by row: where they are, and when each mark comes."""
    counters: list[tuple[TextPoint, list[float], list[str]]] = field(default_factory=list)
    """A text that changes in time: where it stands, and from when on it reads what."""
    height: float = 0.0

    def px(self, pixels: float) -> float:
        """A size that grows with the type."""
        return pixels * self.scale

    def say(self, x: float, y: float, text: str, *, size: float = 12, colour: str = "", bold: bool = False) -> float:
        """Put a text that stays; returns where it ends."""
        self.words.append(TextPoint(x, y, text, colour or self.theme.ink, self.px(size), bold))
        return x + text_width(text, self.px(size), bold=bold)

    def panel(self, place: tuple[float, float, float], height: float, *, high: float, ticks: str, time: bool) -> int:
        """Add axes for a timeline at ``place`` (left, top, width); returns their number."""
        self.panels.append(Panel(*place, height, high, ticks, time))
        return len(self.panels)

    def path(self, number: int, x_ms: Sequence[float], y: Sequence[float], **rest: Any) -> None:
        """Add a line to a timeline."""
        axes = {"type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}"}
        self.lines.append({**axes, "x": [t / 1000 for t in x_ms], "y": list(y), "hoverinfo": "skip", **rest})

    def line(self, number: int, x_ms: Sequence[float], y: Sequence[float], look: ClassStyle, **rest: Any) -> None:
        """Add a class's line to a timeline."""
        self.path(number, x_ms, y, line={"color": look.colour, "width": self.px(2.4), "dash": look.dash, **rest})

    def asked(self, number: int, span_ms: Sequence[float], share: float, look: ClassStyle) -> None:
        """Add thin dashes at a class's asked share."""
        self.path(number, span_ms, [share, share], line={"color": look.colour, "width": 1, "dash": "3px,4px"})

    def marks(self, x: Sequence[float], y: Sequence[float], look: ClassStyle, size: float) -> None:
        """Add a class's marks that stay; ``size`` is in pixels of the picture."""
        marker = {"color": look.colour, "symbol": look.symbol, "size": size}
        trace = {"type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "marker": marker}
        self.still.append({**trace, "hoverinfo": "skip"})

    def name(self, x: float, y: float, look: ClassStyle, text: str, *, size: float = 11.5) -> None:
        """A class's mark with a text behind it."""
        self.marks([x], [y], look, self.px(10))
        self.say(x + self.px(9), y, text, size=size, colour=look.text_colour)

    def to_json(self, moments: Sequence[Moment]) -> dict[str, Any]:
        """Figures and motion as plain data; times are ms."""
        page = len(self.panels) + 1
        fixed = [{**trace, "xaxis": f"x{page}", "yaxis": f"y{page}"} for trace in self.still]
        texts = text_trace("words", self.words) | {"xaxis": f"x{page}", "yaxis": f"y{page}"}
        # Plotly draws the marks of a trace without uid in no order that it keeps.
        still = [{"uid": f"still{k}", **trace} for k, trace in enumerate([*self.lines, *fixed, texts])]
        return {
            "figure": {"data": still, "layout": self._layout()},
            "overlay": {"data": self._moving(), "layout": self._page_layout("") | {"paper_bgcolor": "rgba(0,0,0,0)"}},
            "duration_ms": self.duration_ms,
            "covers": self.covers,
            "panels": [
                {"left": p.left, "width": p.width, "top": p.top, "bottom": p.top + p.height} for p in self.panels
            ],
            "counters": [{"t": t, "text": text} for _, t, text in self.counters],
            "moments": [
                {"name": m.name, "label": m.label, "time_ms": m.time_ms, "caption": m.caption} for m in moments
            ],
            "width": self.width,
            "height": round(self.height),
        }

    def _moving(self) -> list[Trace]:
        """What follows the time, in the order in which a player gives the values."""
        nothing = {"type": "scatter", "mode": "lines", "x": [-9, -9], "y": [-9, -9], "hoverinfo": "skip"}
        veil = nothing | {"fill": "toself", "fillcolor": self.theme.ground, "line": {"width": 0}}
        points = [replace(point, text=text[0]) for point, _, text in self.counters]
        return [
            veil | {"uid": "veil", "opacity": 0.78},
            veil | {"uid": "cover", "opacity": 0.93},
            nothing | {"uid": "playhead", "line": {"color": self.theme.ink, "width": self.px(2)}},
            text_trace("counters", points) | {"xaxis": "x", "yaxis": "y"},
        ]

    def _page_layout(self, number: str) -> dict[str, Any]:
        """A layout with one pair of axes in whole pixels over all of the picture."""
        hidden = {"visible": False, "fixedrange": True, "domain": [0, 1]}
        return {
            "width": self.width,
            "height": round(self.height),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
            "paper_bgcolor": self.theme.ground,
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": self.theme.font, "color": self.theme.ink, "size": self.px(12)},
            "showlegend": False,
            "hovermode": False,
            "dragmode": False,
            f"xaxis{number}": {**hidden, "range": [0, self.width], "anchor": f"y{number}"},
            f"yaxis{number}": {**hidden, "range": [round(self.height), 0], "anchor": f"x{number}"},
        }

    def _layout(self) -> dict[str, Any]:
        theme, height = self.theme, round(self.height)
        layout = self._page_layout(str(len(self.panels) + 1))
        tick = {"tickfont": {"size": self.px(11), "color": theme.muted}, "tickangle": 0, "gridcolor": theme.grid}
        for number, p in enumerate(self.panels, start=1):
            layout[f"xaxis{number}"] = {
                "domain": [p.left / self.width, (p.left + p.width) / self.width],
                "range": [0, self.duration_ms / 1000],
                "anchor": f"y{number}",
                "showticklabels": p.has_time_ticks,
                "ticksuffix": " s",
                "dtick": 1 if p.width > self.px(420) else 2,
                "zeroline": False,
                "fixedrange": True,
                **tick,
            }
            layout[f"yaxis{number}"] = {
                "domain": [1 - (p.top + p.height) / height, 1 - p.top / height],
                "range": [0, p.high],
                "anchor": f"x{number}",
                "tickformat": p.tick_format,
                "nticks": 5,
                "zerolinecolor": theme.grid,
                "fixedrange": True,
                **tick,
            }
        return layout


def looks_of(run: Run, theme: Theme) -> list[ClassStyle]:
    """The look of every class of a run, in ring order."""
    styles = class_styles(run.class_names, theme)
    return [styles[name] for name in run.class_names]


def asked_of(run: Run) -> list[float]:
    """The asked share of every class of a demonstration, in ring order; all of them wait."""
    return [share or 0.0 for share in asked_shares(run)]


def side_labels(
    scene: Scene, looks: list[ClassStyle], values: Sequence[float], place: tuple[float, float, float]
) -> None:
    """Class names right of a share panel, at a value each, kept apart."""
    x, top, height = place
    wanted = [top + height * (1 - value) for value in values]
    gap = scene.px(15)
    if abs(wanted[0] - wanted[1]) < gap:
        middle = sum(wanted) / 2
        wanted = [middle - gap / 2, middle + gap / 2]
    for look, value, y in zip(looks, values, wanted, strict=True):
        name = NAMES[PREMIUM] if look is looks[PREMIUM] else NAMES[REGULAR]
        scene.name(x + scene.px(10), y, look, f"{name} {value:.0%}")
