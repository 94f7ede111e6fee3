"""The timelines of a run: shares, deficits, waiting requests, worker load and refusals, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from drr.charts.palette import ClassStyle, Theme, class_styles
from drr.charts.series import (
    Line,
    Unit,
    asked_shares,
    deficits,
    refusals,
    service_share,
    step_axis,
    thin,
    waiting,
    worker_load,
)
from drr.charts.stage_plan import MARGIN
from drr.charts.stage_traces import text_trace
from drr.charts.words import TextPoint, shorten, spread, text_width, tokens_text
from drr.simulation.recording import Run

PanelName = Literal["share", "recent_share", "deficits", "waiting", "load", "refusals"]
PANELS: tuple[PanelName, ...] = ("share", "recent_share", "deficits", "waiting", "load", "refusals")

_LEFT = 62.0
_TITLE_PX = 30.0
_GAP_PX = 16.0
_LABEL_PX = 15.0
_LABEL_SIZE = 11.5
_MARK_PX = 30.0
"""Between a plot and its labels, and after them."""
_WORKER_DASHES = ("solid", "8px,4px", "2px,3px", "10px,3px,2px,3px", "14px,4px", "4px,2px")


def timeline_figure(
    run: Run,
    *,
    theme: Theme,
    width: int = 900,
    panels: Sequence[PanelName] = PANELS,
    unit: Unit = "tokens",
    recent: float = 0.05,
    most_points: int = 1200,
    playhead_step: int | None = None,
    keep: Mapping[str, int] | None = None,
) -> go.Figure:
    """Timelines of a recorded run over simulated time (over steps where no time passes).

    ``unit`` counts service in tokens or requests; ``recent`` is the window of ``recent_share`` as a part of the run;
    a line of more than ``most_points`` points is thinned, which its panel says. Each panel has a trace
    ``playhead.NAME`` at ``playhead_step``, for a player to move. ``keep`` are class slots to hold on to.
    """
    where, axis_title = step_axis(run)
    span = (float(where[0]), float(where[-1])) if len(where) else (0.0, 1.0)
    styles = class_styles(run.class_names, theme, keep=keep)
    looks = [styles[name] for name in run.class_names]
    drawn = {name: _lines(run, name, unit, recent * (span[1] - span[0])) for name in panels}
    if not run.outcomes.refusal:
        drawn.pop("refusals", None)
    asked = asked_shares(run)
    labels = {name: _labels(name, lines, asked) for name, lines in drawn.items()}
    words = ("".join(pair) for pairs in labels.values() for pair in pairs)
    label_px = max((text_width(text, _LABEL_SIZE) for text in words), default=0.0)
    right = min(label_px, width * 0.3) + _MARK_PX
    at = span[0] if playhead_step is None or playhead_step < 0 else float(where[playhead_step])
    sheet = _Sheet(theme=theme, looks=looks, width=width, left=_LEFT, right=right, span=span, at=at, points=most_points)
    for name, lines in drawn.items():
        sheet.panel(name, _title(run, name, unit, recent), lines, labels[name], asked)
        if name in ("share", "recent_share"):
            sheet.asked(asked)
    return sheet.figure(axis_title)


def playhead_x(run: Run, step: int) -> float:
    """Where the playhead of a step stands on the time axis."""
    where, _ = step_axis(run)
    return float(where[max(step, 0)]) if len(where) else 0.0


def _lines(run: Run, name: PanelName, unit: Unit, window: float) -> list[Line]:
    match name:
        case "share":
            return service_share(run, unit=unit)
        case "recent_share":
            return service_share(run, unit=unit, window=window)
        case "deficits":
            return deficits(run)
        case "waiting":
            return waiting(run, unit=unit)
        case "load":
            return worker_load(run)
        case "refusals":
            return refusals(run)


def _title(run: Run, name: PanelName, unit: Unit, recent: float) -> tuple[str, str]:
    titles: dict[PanelName, tuple[str, str]] = {
        "share": ("SHARE OF SERVICE so far", f"{unit} the ring dispatched; thin dashes: what the quanta ask for"),
        "recent_share": ("SHARE OF SERVICE lately", f"over the last {recent:.0%} of the run; thin dashes: asked"),
        "deficits": ("DEFICITS", "tokens, after every call"),
        "waiting": ("WAITING", unit if run.outcomes.refusal else f"{unit}; nothing was refused"),
        "load": ("WORKER LOAD", "active prefill tokens"),
        "refusals": ("REFUSED so far", "requests"),
    }
    return titles[name]


def _labels(name: PanelName, lines: list[Line], asked: Sequence[float | None]) -> list[tuple[str, str]]:
    """What stands beside every line: its name, which may be shortened, and its figures, which may not."""
    texts = []
    for line in lines:
        known = line.y[~np.isnan(line.y)]
        last = float(known[-1]) if len(known) else 0.0
        if name in ("share", "recent_share"):
            share = asked[line.owner] if name == "share" else None
            texts.append((line.name, f" {last:.0%}" + ("" if share is None else f", asked {share:.0%}")))
        else:
            most = float(np.max(known)) if len(known) else 0.0
            texts.append((line.name, f", {'in all' if name == 'refusals' else 'most'} {tokens_text(round(most))}"))
    return texts


class _Sheet:
    """Collects the panels of a figure from the top down, in pixels."""

    def __init__(
        self,
        *,
        theme: Theme,
        looks: list[ClassStyle],
        width: int,
        left: float,
        right: float,
        span: tuple[float, float],
        at: float,
        points: int,
    ) -> None:
        self.theme, self.looks, self.width, self.left, self.right = theme, looks, width, left, right
        self.span, self.at, self.points = span, at, points
        self.top = 4.0
        self.traces: list[dict[str, Any]] = []
        self.words: list[TextPoint] = []
        self.marks: list[tuple[float, float, ClassStyle]] = []
        self.axes: list[tuple[float, float, float, bool]] = []  # top, height, highest value, is a share

    @property
    def plot_px(self) -> float:
        return self.width - self.left - self.right

    def panel(
        self,
        name: PanelName,
        title: tuple[str, str],
        lines: list[Line],
        labels: list[tuple[str, str]],
        asked: Sequence[float | None],
    ) -> None:
        number = len(self.axes) + 1
        height = max(104.0, _LABEL_PX * len(lines) + 6)
        is_share = name in ("share", "recent_share")
        peaks = [float(np.nanmax(line.y)) for line in lines if len(line.y) and not np.all(np.isnan(line.y))]
        high = 1.05 * max([0.0, *peaks]) or 1.0
        said = title[1]
        if is_share:
            # The first decisions swing between 0 and 1; the axis is made for what follows.
            settled = [float(np.nanmax(line.y[len(line.y) // 20 :])) for line in lines if len(line.y)]
            high = min(1.05, 1.1 * max([0.2, *(share or 0.0 for share in asked), *settled]))
            said += "; the start lies above" if max(peaks, default=0.0) > high else ""
        top = self.top + _TITLE_PX
        kept = [thin(line.x, line.y, self.points) for line in lines]
        for i, (line, keep) in enumerate(zip(lines, kept, strict=True)):
            self.traces.append(self._line(number, name, i, line, keep))
        self._labels(lines, labels, top, height, high if is_share else None)
        self._playhead(number, name, high)
        most = max((len(line.x) for line in lines), default=0)
        if most > self.points:
            said += f"; {most:,} points, drawn: lowest and highest of every {-(-most * 4 // self.points):,}"
        self.words.append(TextPoint(MARGIN, self.top + 12, title[0], self.theme.ink, 12.0, True))
        after = MARGIN + text_width(title[0], 12.0, bold=True) + 12
        said = shorten(said, self.width - after - 6, 11.0)
        self.words.append(TextPoint(after, self.top + 12, said, self.theme.muted, 11.0))
        self.axes.append((top, height, high, is_share))
        self.top = top + height + _GAP_PX

    def asked(self, shares: Sequence[float | None]) -> None:
        """Thin dashes at the asked share of every class that has one, in the panel drawn last."""
        number = len(self.axes)
        for look, share in zip(self.looks, shares, strict=True):
            if share is None:
                continue
            self.traces.append(
                {
                    **self._at(number),
                    "uid": f"asked.{number}.{look.slot}",
                    "mode": "lines",
                    "x": list(self.span),
                    "y": [share, share],
                    "line": {"color": look.colour, "width": 1, "dash": "3px,4px"},
                    "hoverinfo": "skip",
                }
            )

    def _at(self, number: int) -> dict[str, Any]:
        return {"type": "scatter", "xaxis": f"x{number}", "yaxis": f"y{number}"}

    def _line(self, number: int, name: str, i: int, line: Line, keep: np.ndarray) -> dict[str, Any]:
        if line.owner >= 0:
            look = self.looks[line.owner]
            colour, dash, symbol = look.colour, look.dash, look.symbol
        else:
            colour, dash, symbol = self.theme.worker, _WORKER_DASHES[i % len(_WORKER_DASHES)], "circle"
        values = [None if np.isnan(v) else float(v) for v in line.y[keep]]
        return {
            **self._at(number),
            "uid": f"{name}.{i}",
            "name": line.name,
            "legendgroup": line.name,
            "mode": "lines+markers" if line.owner >= 0 else "lines",
            "x": line.x[keep].tolist(),
            "y": values,
            "line": {"color": colour, "width": 2.2, "dash": dash, "shape": "linear" if "share" in name else "hv"},
            "marker": {"symbol": symbol, "size": 8, "color": colour, "maxdisplayed": 7},
            "hovertemplate": f"{line.name}: %{{y:{'.1%' if 'share' in name else ',.0f'}}}<extra></extra>",
        }

    def _labels(
        self, lines: list[Line], labels: list[tuple[str, str]], top: float, height: float, high: float | None
    ) -> None:
        """Labels right of the plot, each behind its line's mark: at the lines' ends (``high`` is given) or in order."""
        wanted = [top + 8 + _LABEL_PX * i for i in range(len(lines))]
        if high is not None:
            ends = [line.y[~np.isnan(line.y)][-1:] for line in lines]
            wanted = [top + height * (1 - (float(end[0]) if len(end) else 0.0) / high) for end in ends]
        edge = self.left + self.plot_px
        for line, (name, figures), y in zip(
            lines, labels, spread(wanted, _LABEL_PX, top + 4, top + height - 2), strict=True
        ):
            look = self.looks[line.owner] if line.owner >= 0 else None
            room = self.right - _MARK_PX + 1 - text_width(figures, _LABEL_SIZE)
            said = shorten(name, room, _LABEL_SIZE) + figures
            self.words.append(
                TextPoint(edge + 24, y, said, look.text_colour if look else self.theme.muted, _LABEL_SIZE)
            )
            if look:
                self.marks.append((edge + 13, y, look))

    def _playhead(self, number: int, name: str, high: float) -> None:
        self.traces.append(
            {
                **self._at(number),
                "uid": f"playhead.{name}",
                "mode": "lines",
                "x": [self.at, self.at],
                "y": [0, high],
                "line": {"color": self.theme.ink, "width": 2},
                "hoverinfo": "skip",
            }
        )

    def figure(self, axis_title: str) -> go.Figure:
        """Everything collected, as a figure."""
        height = self.top + 34
        page = len(self.axes) + 1
        self.words.append(
            TextPoint(self.left + self.plot_px / 2, height - 10, axis_title, self.theme.muted, 11.0, False, "center")
        )
        words = text_trace("page.words", self.words) | {"xaxis": f"x{page}", "yaxis": f"y{page}"}
        marks = {
            "uid": "page.marks",
            **self._at(page),
            "mode": "markers",
            "x": [x for x, _, _ in self.marks],
            "y": [y for _, y, _ in self.marks],
            "marker": {
                "symbol": [look.symbol for _, _, look in self.marks],
                "color": [look.colour for _, _, look in self.marks],
                "size": 9,
            },
            "hoverinfo": "skip",
        }
        layout: dict[str, Any] = {
            "width": self.width,
            "height": round(height),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
            "paper_bgcolor": self.theme.ground,
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": self.theme.font, "color": self.theme.ink, "size": 12},
            "showlegend": False,
            "hovermode": "closest",
            f"xaxis{page}": {"domain": [0, 1], "range": [0, self.width], "anchor": f"y{page}", "visible": False},
            f"yaxis{page}": {"domain": [0, 1], "range": [height, 0], "anchor": f"x{page}", "visible": False},
            "template": "none",
        }
        layout[f"xaxis{page}"]["fixedrange"] = layout[f"yaxis{page}"]["fixedrange"] = True
        for number, (top, tall, high, is_share) in enumerate(self.axes, start=1):
            grid = {"gridcolor": self.theme.grid, "zerolinecolor": self.theme.grid}
            ticks = {"tickfont": {"size": 11, "color": self.theme.muted}, "tickangle": 0}
            layout[f"xaxis{number}"] = {
                "domain": [self.left / self.width, (self.left + self.plot_px) / self.width],
                "range": list(self.span),
                "anchor": f"y{number}",
                "showticklabels": number == len(self.axes),
                "tickformat": ",",
                "nticks": max(3, int(self.plot_px / 90)),
                **({"matches": "x"} if number > 1 else {}),
                **grid,
                **ticks,
            }
            layout[f"yaxis{number}"] = {
                "domain": [1 - (top + tall) / height, 1 - top / height],
                "range": [0, high],
                "anchor": f"x{number}",
                "tickformat": ".0%" if is_share else ("," if high < 1e6 else ".1s"),
                "nticks": 4,
                "fixedrange": True,
                **grid,
                **ticks,
            }
        return go.Figure({"data": [*self.traces, marks, words], "layout": layout})
