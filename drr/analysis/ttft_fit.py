"""A timing model from measured times to first token: the user's own deployment instead of the mock engine's numbers.

The points are of single requests on an idle worker, so the time to first token is the prefill of that prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from drr.errors import WorkloadError

Shape = Literal["linear", "quadratic"]
COEFFICIENTS: dict[Shape, int] = {"linear": 2, "quadratic": 3}
LARGEST_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True)
class TtftFit:
    """``ms = c2 T^2 + c1 T + c0`` over T prompt tokens; ``prefill`` is (c2, c1, c0), as the engine options take it.

    ``residuals_ms`` are measured minus fitted, one per point; ``falls`` tells that a longer prompt would take less time
    somewhere between 0 and twice the longest one.
    """

    prefill: tuple[float, float, float]
    residuals_ms: tuple[float, ...]
    r_squared: float
    falls: bool

    @property
    def largest_residual_ms(self) -> float:
        """The largest distance of a point from the curve."""
        return max(map(abs, self.residuals_ms))


def read_points(text: str) -> list[tuple[int, float]]:
    """Points of pasted lines ``tokens ms`` (blank, comma, semicolon or tab between); ``#`` starts a comment.

    Raises :class:`WorkloadError` with the line and what is allowed.
    """
    points = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split("#", 1)[0].replace(",", " ").replace(";", " ").split()
        if not cells:
            continue
        try:
            tokens, ms = map(float, cells)
        except ValueError:
            raise WorkloadError(
                f"line {number}: {line.strip()!r} is no point; two numbers are needed, tokens and ms, as in `512 31.5`"
            ) from None
        if not (1 <= tokens <= LARGEST_TOKENS and tokens == int(tokens)):
            raise WorkloadError(
                f"line {number}: {cells[0]} tokens; a whole number from 1 to {LARGEST_TOKENS:,} is allowed"
            )
        if not 0 <= ms < float("inf"):
            raise WorkloadError(f"line {number}: {cells[1]} ms; a finite time of at least 0 ms is allowed")
        points.append((int(tokens), ms))
    return points


def fit_ttft(points: Sequence[tuple[int, float]], shape: Shape = "quadratic") -> TtftFit:
    """Ordinary least squares; raises :class:`WorkloadError` where there are fewer different lengths than numbers."""
    needed = COEFFICIENTS[shape]
    lengths = np.array([tokens for tokens, _ in points], dtype=float)
    times = np.array([ms for _, ms in points], dtype=float)
    different = len(set(lengths.tolist()))
    if different < needed:
        raise WorkloadError(f"{different} different lengths given, a {shape} fit needs at least {needed}")
    # Lengths are scaled to at most 1: squares of tokens beside ones would cost half of the digits.
    scale = float(lengths.max())
    columns = np.vander(lengths / scale, needed)
    solved = np.linalg.lstsq(columns, times, rcond=None)[0]
    residuals = times - columns @ solved
    spread = float(((times - times.mean()) ** 2).sum())
    r_squared = 1.0 - float((residuals**2).sum()) / spread if spread > 0 else 1.0
    scaled = [0.0] * (3 - needed) + solved.tolist()
    c2, c1, c0 = scaled[0] / scale**2, scaled[1] / scale, scaled[2]
    falls = c1 < 0 or c1 + 4 * c2 * scale < 0
    return TtftFit((c2, c1, c0), tuple(residuals.tolist()), r_squared, falls)
