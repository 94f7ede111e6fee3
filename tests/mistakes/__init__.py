"""Mistakes somebody could make in the engine, each as an exact change of text, and the tests that must notice.

Every entry is a rule of the real router told wrongly. ``old`` has to stand in its file exactly once: whoever rewrites
the line brings the mistake along. ``make mutants`` tries them all.
"""

from __future__ import annotations

from tests.mistakes.engine import PASSES, POOL, TIMING
from tests.mistakes.mistake import Mistake
from tests.mistakes.router import ADMISSION, CHOICE, ORDER
from tests.mistakes.scheduler import LANES, RING

__all__ = ["MISTAKES", "Mistake"]

MISTAKES: tuple[Mistake, ...] = (*RING, *LANES, *ORDER, *ADMISSION, *CHOICE, *TIMING, *PASSES, *POOL)
