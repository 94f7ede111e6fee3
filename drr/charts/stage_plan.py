"""The plan of a stage: what :func:`drr.charts.stage_layout.stage_layout` works out for a whole run, as frozen values.

All positions are pixels, from the top left of the figure or of a panel's plot area; token axes carry tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal

from drr.charts.survey import Survey
from drr.charts.words import Anchor

MARGIN = 16
GUTTER = 28
LINE_PX = 18.0
"""Height of a line of a header. Headers have a title and a key below it, of two lines on a narrow page."""
ROW_GAP = 20
NAME_SIZE = 13
WORD_SIZE = 11.5
FLOATING = -2
"""``LaneRow.endpoint`` of a row that shows whichever exact lane stands there at the step."""
PARKED = -1e6
"""Where marks go that a step does not need: far outside every axis, clipped."""

SMALL = 600
"""Pages below this width show one panel below the other."""
NARROW = 860
"""Pages below this width, in pixels, put the lanes and the deficits in rows of their own."""
MANY_CLASSES = 6
MANY_LANES = 8
MANY_WORKERS = 12
LEAST_LANE_ROWS = 20
MOST_BOXES = 20
STRIP_WORDS_PX = 36.0
"""Room for the two lines of words above a strip of many workers."""
MARKS_PX = 15.0
"""Room for the class marks at their limits, where limits differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Plot area of one panel in pixels from the figure's top left; its header stands above it."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RingPlan:
    """The ring in pixels of its panel, y downwards."""

    panel: Panel
    centre_x: float
    centre_y: float
    radius: float
    node_x: tuple[float, ...]
    node_y: tuple[float, ...]
    angles: tuple[float, ...]
    """Clockwise from the top, in radians."""
    least_node: float
    largest_node: float
    """Diameter of a node with nothing, and with the run's largest backlog; the area between grows with the backlog."""
    label_x: tuple[float, ...]
    label_y: tuple[float, ...]
    label_anchor: tuple[Anchor, ...]
    labels: tuple[str, ...]
    has_leaders: bool
    lines: int
    """Lines of a label: 3 (name, word, requests), or 2 where many classes share the ring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostScale:
    """How wide the box of a request is."""

    kind: Literal["equal", "linear", "log"]
    low_tokens: int
    high_tokens: int
    low_px: float
    high_px: float

    def width(self, cost_tokens: int) -> float:
        """Width of a box in pixels."""
        if self.kind == "equal":
            return self.high_px
        if self.kind == "linear":
            return self.high_px * cost_tokens / self.high_tokens
        share = log(max(cost_tokens, self.low_tokens) / self.low_tokens) / log(self.high_tokens / self.low_tokens)
        return self.low_px + (self.high_px - self.low_px) * share


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """One row of the lanes panel."""

    class_index: int
    endpoint: int
    """-1 the shared lane, an endpoint index, or ``FLOATING``."""
    place: int
    """Which of the class's exact lanes a floating row shows, from 0; -1 in fixed rows."""
    folds: bool
    """The last floating row of a class: stands for all further lanes together where there are more."""
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePlan:
    """The lanes in pixels of their panel, y downwards. Boxes start at x = 0; names stand left of it."""

    panel: Panel
    rows: tuple[LaneRow, ...]
    is_roomy: bool
    names: tuple[str, ...]
    """Per class, shortened."""
    scale: CostScale
    name_left: float
    """Where class names start, in pixels of the figure."""
    label_px: float
    """How far right of the class name the lane's name starts (rows that are not roomy)."""
    slots: int
    """Boxes a row can show."""
    boxes_px: float
    """Boxes end before this."""
    words_x: float
    """Where words start: right of the boxes, or 0 (below them) in roomy rows."""
    box_px: float
    is_terse: bool
    """Reasons have to be short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPlan:
    """Rows of bars over a token axis that starts at 0; row i is at y = i. Words start at the axis' end."""

    panel: Panel
    names: tuple[str, ...]
    high_tokens: float
    is_cut: bool
    """Some value of the run may lie beyond the axis."""
    name_px: float
    words_px: float
    marks_px: float = 0.0
    """Room above the rows (right of a strip) for the marks that say whose limit is where."""
    is_strip: bool = False
    """Upright bars side by side instead of rows (many workers)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLayout:
    """The whole stage of one run at one width."""

    width: int
    height: int
    header_px: float
    """Height of the header above every plot area."""
    survey: Survey
    ring: RingPlan
    lanes: LanePlan
    deficits: BarPlan
    workers: BarPlan
