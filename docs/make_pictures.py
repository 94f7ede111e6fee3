"""Makes the pictures and tables of ``docs/tuning.md``: ``python docs/make_pictures.py`` (our engine, the recordings).

Each experiment is a function of its figures, so that the tests run the very same ones.
"""

from __future__ import annotations

import csv
import math
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from drr.analysis.outcomes import comparison, completed_first
from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.requests import RequestTable
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, Change, Finish, run_manual
from drr.simulation.replay import replay

DOCS = Path(__file__).resolve().parent
RECORDING = DOCS.parent / "tests" / "recordings" / "quantum_scale.csv"
CLASSES = ("premium", "regular")
REQUESTS = 320
"""Per class."""
ASKED = 4
"""Premium's quantum over regular's, everywhere on the page."""
DRAINS = (1, 2, 4, 8, 16, 32, 64)
DRAIN_QUANTA = (1, 2, 4, 8, 16, 32, 64, 256)
"""Premium's quantum in costs of one request."""
DRAIN_COST_TOKENS = 64
MIXED_QUANTA = (16, 64, 128, 256, 512, 1024, 2048, 4096)
MIXED_REQUESTS = 1_000
MIXES = ("all 512", "256 to 768", "64 or 960", "log-normal, median 310")


@dataclass(frozen=True, slots=True)
class Point:
    """One recorded point: what was asked of the real router, and premium's part of the first 320 completions."""

    cost_tokens: int
    sequences: int
    busy_threshold_tokens: int
    quantum_premium: int
    quantum_regular: int
    real_router: int
    documented: int


def points() -> list[Point]:
    """The recorded points, in file order. The sixth column, a second model of the rule ``carry``, is left out."""
    with RECORDING.open(encoding="utf-8") as file:
        rows = [list(map(int, row)) for row in list(csv.reader(file))[1:]]
    return [Point(*row[:6], row[7]) for row in rows]


def two_classes(quantum_premium: int, quantum_regular: int, busy_threshold_tokens: int) -> Profile:
    """Premium and regular with these quanta and one busy threshold."""
    quanta = zip(CLASSES, (quantum_premium, quantum_regular), strict=True)
    classes = tuple(
        PolicyClass(
            name,
            quantum=quantum,
            policy_family=name,
            cache_bucket="all",
            prefill_busy_threshold=busy_threshold_tokens,
        )
        for name, quantum in quanta
    )
    return Profile("regular", (CacheBucket(0, "all"),), classes)


def alternating(premium: Iterable[int], regular: Iterable[int]) -> RequestTable:
    """Requests of these costs in tokens, premium first, all at once, one output token each."""
    table = RequestTable()
    for costs in zip(premium, regular, strict=True):
        for name, cost in zip(CLASSES, costs, strict=True):
            table.append(cost, policy_header=name)
    return table


def _engine(sequences: int) -> EngineOptions:
    return EngineOptions(max_num_seqs=sequences, block_size=512, num_gpu_blocks=100_000, enable_prefix_caching=False)


def premium_in_first_320(point: Point, rule: CursorRule) -> int:
    """Premium's part of the first 320 completions, by our replay."""
    run = replay(
        two_classes(point.quantum_premium, point.quantum_regular, point.busy_threshold_tokens),
        alternating(*[[point.cost_tokens] * REQUESTS] * 2),
        engine=_engine(point.sequences),
        cursor_rule=rule,
        record=False,
    )
    return completed_first(run, REQUESTS)[0]


def premium_with_drains(slots: int, quantum_costs: int, rule: CursorRule) -> int:
    """Premium's part of the first 320 dispatches where every drain has room for ``slots`` equal requests.

    The worker is held while so many of its requests end, and then let go: one drain for all of them.
    """
    quantum = DRAIN_COST_TOKENS * quantum_costs
    table = alternating(*[[DRAIN_COST_TOKENS] * REQUESTS] * 2)
    script: list[Action] = [Change("hold", 0), *(Arrive(row) for row in range(len(table))), Change("free", 0)]
    for _ in range(-(-REQUESTS // slots)):
        script += [Change("hold", 0), *[Finish()] * slots, Change("free", 0)]
    run = run_manual(
        two_classes(quantum, quantum // ASKED, (slots - 1) * DRAIN_COST_TOKENS),
        table,
        script,
        capacity="policy",
        cursor_rule=rule,
    )
    return sum(run.class_index[run.step_request[step]] == 0 for step in run.decision_steps[:REQUESTS])


def mixed_costs(mix: str, seed: int) -> list[int]:
    """Costs in tokens, drawn from one of :data:`MIXES`; their mean is about 512."""
    draw = random.Random(seed)
    if mix == "all 512":
        return [512] * MIXED_REQUESTS
    if mix == "256 to 768":
        return [draw.randint(256, 768) for _ in range(MIXED_REQUESTS)]
    if mix == "64 or 960":
        return [draw.choice((64, 960)) for _ in range(MIXED_REQUESTS)]
    return [min(8_000, max(16, round(math.exp(draw.gauss(math.log(512) - 0.5, 1.0))))) for _ in range(MIXED_REQUESTS)]


def ratio_with_mixed_costs(mix: str, quantum_premium: int, rule: CursorRule) -> float:
    """Premium's tokens over regular's while both wait, one request at a time on one worker."""
    run = replay(
        two_classes(quantum_premium, quantum_premium // ASKED, 0),
        alternating(mixed_costs(mix, 1), mixed_costs(mix, 2)),
        engine=_engine(1),
        cursor_rule=rule,
        record=False,
    )
    pair = comparison(run)
    assert pair is not None
    assert pair.got is not None
    return pair.got


# --- tables --------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def scale_table(found: Sequence[tuple[Point, int, int]]) -> str:
    """All points: real router / our ``carry`` / our ``documented``, by cost and sequences."""
    columns = list(dict.fromkeys((p.cost_tokens, p.sequences) for p, _, _ in found))
    by_place = {
        (p.quantum_premium, p.cost_tokens, p.sequences): f"{p.real_router} / {ours} / {documented}"
        for p, ours, documented in found
    }
    quanta = list(dict.fromkeys((p.quantum_premium, p.quantum_regular) for p, _, _ in found))
    head = ["quanta", *(f"{cost:,} tokens, {n} seq." for cost, n in columns)]
    return table(head, ((f"{q:,} : {r:,}", *(by_place[q, *column] for column in columns)) for q, r in quanta))


def drain_table(rule: CursorRule) -> str:
    """Premium's part of 320 for every drain size and quantum."""
    head = ["slots per drain", *(f"{quantum} ×" for quantum in DRAIN_QUANTA)]
    return table(head, ((slots, *(premium_with_drains(slots, q, rule) for q in DRAIN_QUANTA)) for slots in DRAINS))


def mixed_table() -> str:
    """Got ratios on the shipped router for costs that differ."""
    head = ["costs (tokens)", *(f"{quantum:,}" for quantum in MIXED_QUANTA)]
    return table(
        head,
        ((mix, *(f"{ratio_with_mixed_costs(mix, q, 'carry'):.1f}" for q in MIXED_QUANTA)) for mix in MIXES),
    )


def put(page: str, name: str, text: str) -> str:
    """The page with a table in its place."""
    start, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    place = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not place.search(page):
        raise SystemExit(f"tuning.md has no place for {name}")
    return place.sub(lambda _: f"{start}\n{text}\n{end}", page)


# --- pictures ------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 180, 44, 56
INK, GRID = "#3b4252", "#d8dee9"
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#b5518a"


class Chart:
    """A small line chart: x is logarithmic (base 2), y runs from 140 to 330 requests of 320."""

    def __init__(self, title: str, x_title: str, x_range: tuple[float, float]) -> None:
        self._x_range = [math.log2(x) for x in x_range]
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}" '
            'font-family="sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            self._text(LEFT, 24, title, size=15),
            self._text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_title, anchor="middle"),
        ]
        for y in (160, 192, 224, 256, 288, 320):
            self._parts.append(self._line((LEFT, self._y(y)), (WIDTH - RIGHT, self._y(y)), GRID, 1))
            self._parts.append(self._text(LEFT - 8, self._y(y) + 4, f"{y}", anchor="end"))
        low, high = self._x_range
        step = 4 if high - low > 16 else 2
        for power in range(step * math.ceil(low / step), math.floor(high) + 1, step):
            label = f"{2**power:,}×" if power >= 0 else f"1/{2**-power:,}×"
            self._parts.append(self._text(self._x(2.0**power), HEIGHT - BOTTOM + 18, label, anchor="middle"))

    def _x(self, x: float) -> float:
        low, high = self._x_range
        return round(LEFT + (math.log2(x) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    @staticmethod
    def _y(y: float) -> float:
        return round(HEIGHT - BOTTOM - (y - 140) / 190 * (HEIGHT - TOP - BOTTOM), 1)

    @staticmethod
    def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = INK, size: int = 13) -> str:
        return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{text}</text>'

    @staticmethod
    def _line(start: tuple[float, float], end: tuple[float, float], colour: str, width: float) -> str:
        ends = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}"'
        return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"/>'

    def line(self, data: Sequence[tuple[float, float]], colour: str, name: str, *, dashed: bool = False) -> None:
        """A line with its name at its right end, below where it ends on the lowest grid line."""
        path = " ".join(f"{self._x(x):g},{self._y(y):g}" for x, y in data)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>')
        x, y = data[-1]
        if y <= 160 and self._x(x) < WIDTH - RIGHT:
            self._parts.append(self._text(self._x(x), self._y(160) + 17, name, colour=colour, anchor="middle"))
        else:
            self._parts.append(self._text(self._x(x) + 10, self._y(y) + 4, name, colour=colour))

    def dots(self, data: Iterable[tuple[float, float]], colour: str) -> None:
        """Hollow dots."""
        for x, y in sorted(set(data)):
            at = f'cx="{self._x(x):g}" cy="{self._y(y):g}"'
            self._parts.append(f'<circle {at} r="4" fill="none" stroke="{colour}" stroke-width="1.5"/>')

    def write(self, path: Path) -> None:
        """Save the picture."""
        path.write_text("\n".join([*self._parts, "</svg>", ""]), encoding="utf-8")


def scale_picture(found: Sequence[tuple[Point, int, int]], path: Path) -> None:
    """All points over quantum / cost: the real router as dots, our two rules as lines (four sequences)."""
    chart = Chart(
        "Premium's part of the first 320, quanta 4 : 1",
        "premium's quantum ÷ cost of a request",
        (2**-10, 2**12),
    )
    middle = [(p.quantum_premium / p.cost_tokens, p, a, b) for p, a, b in found if p.sequences == 4]
    ours = sorted({(x, a) for x, _, a, _ in middle})
    documented = sorted({(x, b) for x, p, _, b in middle if p.cost_tokens == 64})
    chart.line(documented, BLUE, "ours, documented", dashed=True)
    chart.line(ours, ORANGE, "ours, carry")
    chart.dots(((p.quantum_premium / p.cost_tokens, p.real_router) for p, _, _ in found), INK)
    chart.dots([(2.0**5, 200)], INK)
    chart.line([(2.0**5.3, 199), (2.0**5.3, 199)], INK, "real router, all 99 points")
    chart.write(path)


def drain_picture(path: Path) -> None:
    """One line per number of slots that a drain has room for, rule ``carry``."""
    chart = Chart(
        "Shipped router: premium's part of 320 by slots per drain, quanta 4 : 1",
        "premium's quantum ÷ cost of a request",
        (1, 2**8),
    )
    for slots, colour in ((64, BLUE), (16, GREEN), (4, PINK), (1, ORANGE)):
        data = [(float(q), float(premium_with_drains(slots, q, "carry"))) for q in DRAIN_QUANTA]
        ended = next((i for i, (_, y) in enumerate(data) if y <= 160), len(data) - 1)
        chart.line(data[: ended + 1], colour, f"{slots} slot{'s' * (slots > 1)} per drain")
    chart.write(path)


def main() -> None:
    """Run every experiment; write the pictures, and the tables into the page."""
    found = [(p, *(premium_in_first_320(p, rule) for rule in reversed(CURSOR_RULES))) for p in points()]
    pictures = DOCS / "pictures"
    pictures.mkdir(exist_ok=True)
    scale_picture(found, pictures / "quantum_scale.svg")
    drain_picture(pictures / "drains.svg")
    page = DOCS / "tuning.md"
    text = page.read_text(encoding="utf-8")
    text = put(text, "scale", scale_table(found))
    text = put(text, "drains, carry", drain_table("carry"))
    text = put(text, "mixed costs", mixed_table())
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
