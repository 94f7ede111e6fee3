"""Headers of the stage's panels: a title, and a key that shows every mark as it is drawn. Static shapes and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import Literal

from drr.charts.palette import Theme
from drr.charts.stage_plan import LINE_PX, STRIP_WORDS_PX, StageLayout
from drr.charts.survey import Survey
from drr.charts.words import TextPoint, shorten, text_width, tokens_text

Glyph = Literal[
    "solid", "pale", "dots", "hatch", "cross", "line", "ticks", "hand", "hand_before", "dash", "head", "circle", "none"
]

KEY_SIZE = 11.0
TITLE_SIZE = 12.0
_GAP = 14.0


@dataclass(frozen=True, slots=True)
class KeyItem:
    """One mark and what it means; ``wide`` is the mark's width in pixels."""

    glyph: Glyph
    text: str
    wide: float = 14.0


@dataclass(slots=True)
class Sheet:
    """Static shapes and words of a figure, collected in pixels from its top left."""

    layout: StageLayout
    theme: Theme
    paths: dict[tuple[float, str, str, str, str], list[str]] = field(default_factory=dict)
    words: list[TextPoint] = field(default_factory=list)

    def word(self, x: float, y: float, text: str, *, size: float = KEY_SIZE, strong: bool = False) -> None:
        """A word that starts at (x, y), y being its middle."""
        colour = self.theme.ink if strong else self.theme.muted
        self.words.append(TextPoint(x, y, text=text, colour=colour, size=size, is_bold=strong))

    def path(
        self,
        outlines: Sequence[Sequence[tuple[float, float]]],
        *,
        line: float,
        fill: str | None = None,
        dash: str = "solid",
        below: bool = False,
    ) -> None:
        """Several outlines in one look. Outlines of a look become one shape: every shape costs time in every frame."""
        colour = fill if line == 0 and fill else self.theme.ink if line > 1.4 else self.theme.muted
        look = (line, colour, fill or "rgba(0,0,0,0)", dash, "below" if below else "above")
        parts = self.paths.setdefault(look, [])
        for outline in outlines:
            points = [f"{x / self.layout.width:.6f},{1 - y / self.layout.height:.6f}" for x, y in outline]
            parts.append("M" + " L".join(points) + (" Z" if fill else ""))

    def shapes(self) -> list[dict[str, object]]:
        """The collected paths as Plotly shapes."""
        return [
            {
                "type": "path",
                "path": " ".join(parts),
                "xref": "paper",
                "yref": "paper",
                "line": {"width": line, "color": colour, "dash": dash},
                "fillcolor": fill,
                "layer": layer,
            }
            for (line, colour, fill, dash, layer), parts in self.paths.items()
            if parts
        ]

    def glyph(self, x: float, y: float, item: KeyItem) -> None:
        """Draw a mark at (x, y), y being its middle."""
        filled, wide = self.theme.worker, item.wide
        box = [(x, y - 5), (x + wide, y - 5), (x + wide, y + 5), (x, y + 5)]
        slants = [[(x + k, y + 5), (x + k + 5, y - 5)] for k in (0.0, 4.5, 9.0)]
        match item.glyph:
            case "solid":
                self.path([box], line=0, fill=filled)
            case "head":
                self.path([box], line=2, fill=filled)
            case "pale":
                self.path([box], line=1, fill=self.theme.grid)
            case "hatch":
                self.path([box], line=1, fill=self.theme.ground)
                self.path(slants, line=1.2)
            case "cross":
                self.path([box], line=1, fill=self.theme.ground)
                self.path([*slants, *([(x + k, y - 5), (x + k + 5, y + 5)] for k in (0.0, 4.5, 9.0))], line=1.2)
            case "dots":
                self.path([box], line=1, fill=self.theme.ground)
                places = [(x + a, y + b) for a in (3, 7, 11) for b in (-2.5, 2.5)]
                self.path(
                    [[(a - 1, b - 1), (a + 1, b - 1), (a + 1, b + 1), (a - 1, b + 1)] for a, b in places],
                    line=0,
                    fill=filled,
                )
            case "line":
                self.path([[(x + wide / 2, y - 7), (x + wide / 2, y + 7)]], line=3)
            case "ticks":
                self.path([[(x + k, y - 1), (x + k, y + 5)] for k in (2.0, 7.0, 12.0)], line=1.2)
            case "dash":
                self.path([[(x + wide / 2, y - 7), (x + wide / 2, y + 7)]], line=1.5, dash="3px,2px")
            case "hand" | "hand_before":
                arrow = [
                    (x, y - 1.5),
                    (x + 6, y - 1.5),
                    (x + 6, y - 5),
                    (x + 14, y),
                    (x + 6, y + 5),
                    (x + 6, y + 1.5),
                    (x, y + 1.5),
                ]
                if item.glyph == "hand":
                    self.path([arrow], line=0, fill=self.theme.ink)
                else:
                    self.path([arrow], line=1, fill=self.theme.ground)
            case "circle":
                turns = [2 * pi * k / 16 for k in range(16)]
                self.path([[(x + 6 + 6 * cos(t), y + 6 * sin(t)) for t in turns]], line=1.5, fill=self.theme.ground)
            case "none":
                pass


def header(sheet: Sheet, left: float, top: float, width: float, title: str, items: list[KeyItem]) -> list[KeyItem]:
    """Draw a panel's header above its plot area at ``top``; returns the items that found no room (none, tests say).

    The key stands below the title; where it is too long for that it begins behind the title.
    """
    step, first = LINE_PX, top - sheet.layout.header_px + 9
    below = [(left, first + step * k) for k in range(1, header_lines(sheet.layout))]
    behind = (left + text_width(title, TITLE_SIZE, bold=True) + _GAP, first)
    sheet.word(left, first, title, size=TITLE_SIZE, strong=True)
    if not _flow(sheet, items, below, left + width, draw=False):
        return _flow(sheet, items, below, left + width)
    return _flow(sheet, items, [behind, *below], left + width)


def header_lines(layout: StageLayout) -> int:
    """Lines of a header, the title's among them."""
    return round((layout.header_px - 10) / LINE_PX)


def _flow(
    sheet: Sheet, items: list[KeyItem], lines: list[tuple[float, float]], end: float, *, draw: bool = True
) -> list[KeyItem]:
    """Set items into lines that start at given points and end at ``end``; returns those that do not fit."""
    left = list(lines)
    x, y = left.pop(0)
    dropped = []
    for item in items:
        if x + _item_width(item) - _GAP > end and left:
            x, y = left.pop(0)
        if x + _item_width(item) - _GAP > end + 0.5:
            dropped.append(item)
            continue
        if draw:
            sheet.glyph(x, y, item)
            sheet.word(x + (0.0 if item.glyph == "none" else item.wide + 5), y, item.text)
        x += _item_width(item)
    return dropped


def _item_width(item: KeyItem) -> float:
    return (0.0 if item.glyph == "none" else item.wide + 5) + 0.94 * text_width(item.text, KEY_SIZE) + _GAP


def draw_headers(sheet: Sheet) -> list[KeyItem]:
    """All four headers; returns the key items that found no room."""
    layout = sheet.layout
    ring, lanes, deficits, workers = layout.ring.panel, layout.lanes.panel, layout.deficits, layout.workers
    dropped: list[KeyItem] = []
    first = ring.top - layout.header_px + 9
    sheet.word(ring.left, first, "RING", size=TITLE_SIZE, strong=True)
    # The last line is the headline's, which changes from step to step.
    lines = [(ring.left + text_width("RING", TITLE_SIZE, bold=True) + _GAP, first)]
    lines += [(ring.left, first + LINE_PX * k) for k in range(1, header_lines(layout) - 1)]
    dropped += _flow(sheet, ring_key(layout), lines, ring.left + ring.width)
    left = layout.lanes.name_left
    dropped += header(sheet, left, lanes.top, lanes.left + lanes.width - left, "LANES", lanes_key(layout))
    left = deficits.panel.left - deficits.name_px
    wide = deficits.name_px + deficits.panel.width + deficits.words_px
    dropped += header(sheet, left, deficits.panel.top, wide, "DEFICITS, tokens", deficits_key(layout))
    left = workers.panel.left - workers.name_px
    wide = workers.name_px + workers.panel.width + workers.words_px
    top = workers.panel.top - (STRIP_WORDS_PX if workers.is_strip else layout.workers.marks_px)
    dropped += header(sheet, left, top, wide, "WORKERS, active prefill tokens", workers_key(layout.survey, wide))
    return dropped


def ring_key(layout: StageLayout) -> list[KeyItem]:
    """Marks of the ring."""
    items = [KeyItem("hand", "cursor"), KeyItem("hand_before", "before the call")]
    if layout.survey.carries:
        items.append(KeyItem("circle", "carry"))
    return [*items, KeyItem("none", "size: backlog")]


def lanes_key(layout: StageLayout) -> list[KeyItem]:
    """Marks of the lanes, with boxes of the scale's real widths."""
    scale = layout.lanes.scale
    low, high = tokens_text(scale.low_tokens), tokens_text(scale.high_tokens)
    if scale.kind == "equal":
        boxes = [KeyItem("pale", f"{high} tokens", wide=scale.high_px)]
    else:
        how = "log scale" if scale.kind == "log" else "in proportion"
        boxes = [KeyItem("pale", low, wide=scale.low_px), KeyItem("pale", f"{high} tokens, {how}", wide=scale.high_px)]
    return [KeyItem("head", "head"), KeyItem("hatch", "blocked head"), *boxes]


def deficits_key(layout: StageLayout) -> list[KeyItem]:
    """Marks of the deficits."""
    items = [
        KeyItem("solid", "kept"),
        KeyItem("pale", "granted now"),
        KeyItem("dots", "bulk"),
        KeyItem("line", "head's cost", wide=6),
        KeyItem("ticks", "quanta"),
    ]
    if layout.deficits.is_cut:
        items.append(KeyItem("none", "\u00bb beyond the axis"))
    return items


def workers_key(facts: Survey, room: float) -> list[KeyItem]:
    """Marks of the workers, and from where on they are busy for whom."""
    return [
        KeyItem("cross", "busy"),
        KeyItem("hatch", "for some"),
        KeyItem("dash", shorten(limits_text(facts), room - 20, KEY_SIZE), wide=6),
    ]


def limits_text(facts: Survey) -> str:
    """The busy limits of a run in one line."""
    count = len(facts.class_names)
    per_class = [{limit for row in facts.limits_tokens if (limit := row[c]) is not None} for c in range(count)]
    every = sorted(set().union(*per_class))
    if not every:
        return "no limits: no worker is ever busy"
    if len(every) == 1:
        having = sum(bool(limits) for limits in per_class)
        whom = "" if having == count else f" for {having} of {count} classes"
        return f"busy above {tokens_text(every[0])}{whom}"
    span = f"busy above {tokens_text(every[0])} to {tokens_text(every[-1])}"
    return f"{span}, by class" if all(len(limits) <= 1 for limits in per_class) else f"{span}, by worker"
