"""Small pieces of sentences."""

from __future__ import annotations

from collections.abc import Sequence

MOST_LISTED = 6


def listed(names: Sequence[str]) -> str:
    """Names as a list for people: a, b and c; of many only the first few."""
    if len(names) > MOST_LISTED:
        return f"{', '.join(names[:MOST_LISTED])} and {len(names) - MOST_LISTED:,} more"
    return listing(names)


def listing(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``, however many there are."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def percent(share: float) -> str:
    """A share for people; never 0 % or 100 % where it is not exactly that."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 request, 1,200 requests, 2 classes."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}{'es' if noun.endswith('s') else 's'}"
