"""Small pieces of sentences."""

from __future__ import annotations

from collections.abc import Sequence

MOST_LISTED = 6


def listed(names: Sequence[str]) -> str:
    """Names as a list for people: a, b and c; of many only the first few."""
    shown = list(names[:MOST_LISTED])
    if len(names) > MOST_LISTED:
        return f"{', '.join(shown)} and {len(names) - MOST_LISTED:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def percent(share: float) -> str:
    """A share for people; never 0 % or 100 % where it is not exactly that."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 request, 1,200 requests."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
