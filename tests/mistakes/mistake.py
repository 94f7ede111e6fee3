"""What a mistake is, and which tests look after which room. Tests are listed quickest first."""

from __future__ import annotations

from dataclasses import dataclass

GAPS = "tests/test_mutant_gaps.py"
RECORDINGS = "tests/test_recordings.py"


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong rule: what it claims, where, the texts that change (old, new), and the tests that must notice."""

    name: str
    path: str
    changes: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
