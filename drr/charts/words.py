"""Text that fits: widths of words in pixels, names shortened without becoming alike, labels spread apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

BLANK = "\u00a0"
"""What a text point shows when it shows nothing. Never the empty string: plotly.js drops the text node of an empty
point, and under ``redraw: false`` the point stays mute for good."""

Anchor = Literal["left", "center", "right"]
"""Which part of a text stands at its point."""


@dataclass(frozen=True, slots=True)
class TextPoint:
    """One piece of text on the page, its middle line at y; pixels from the figure's top left."""

    x: float
    y: float
    text: str = BLANK
    colour: str = "#000000"
    size: float = 12.0
    is_bold: bool = False
    anchor: Anchor = "left"


_NARROW = frozenset("iljI.,:;'|!()[] \u00a0-")
_WIDE = frozenset("mwMWQOG@%\u2026")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Upper estimate of a text's width in pixels, ``size`` in pixels (DejaVu Sans, the widest font we ask for)."""
    em = 0.0
    for character in text:
        if character in _NARROW:
            em += 0.36
        elif character in _WIDE:
            em += 0.93
        elif character.isupper():
            em += 0.70
        else:
            em += 0.625
    return em * size * (1.1 if bold else 1.0)


def shorten(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """``text``, or as much of its two ends as fits into ``room`` pixels around an ellipsis."""
    if text_width(text, size, bold=bold) <= room:
        return text
    for kept in range(len(text) - 1, 1, -1):
        front = (kept + 1) // 2
        candidate = f"{text[:front]}\u2026{text[len(text) - (kept - front) :]}"
        if text_width(candidate, size, bold=bold) <= room:
            return candidate
    return text[:1] + "\u2026"


def shorten_all(names: Sequence[str], room: float, size: float, *, bold: bool = False) -> tuple[str, ...]:
    """Every name shortened to ``room`` pixels; names that would come out alike end in their place in the list."""
    short = [shorten(name, room, size, bold=bold) for name in names]
    alike = [short.count(name) > 1 for name in short]
    for place, is_alike in enumerate(alike):
        if is_alike:
            number = f"\u2026{place + 1}"
            left = room - text_width(number, size, bold=bold)
            kept = len(names[place])
            while kept > 1 and text_width(names[place][:kept], size, bold=bold) > left:
                kept -= 1
            short[place] = names[place][:kept] + number
    return tuple(short)


def tokens_text(tokens: int) -> str:
    """A number of tokens in few characters: exact with separators below ten million, else three digits and a power."""
    if abs(tokens) < 10_000_000:
        return f"{tokens:,}"
    for unit, power in (("million", 6), ("billion", 9)):
        if abs(tokens) < 10 ** (power + 3):
            return f"{tokens / 10**power:.3g} {unit}"
    return f"{tokens:.2e}".replace("e+", "e")


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least ``gap`` apart within ``low``..``high``, each as near as can be to the wanted one, order kept.

    Labels that crowd become a block around their mean. Where not even equal steps fit, equal steps are returned.
    """
    count = len(wanted)
    if count == 0:
        return []
    if (count - 1) * gap >= high - low:
        gap = (high - low) / max(1, count - 1)
    order = sorted(range(count), key=lambda i: (wanted[i], i))
    blocks: list[tuple[float, list[int]]] = []  # start of the block, its members
    for index in order:
        start, members = min(max(wanted[index], low), high), [index]
        while True:
            start = min(start, high - gap * (len(members) - 1))
            if not blocks or blocks[-1][0] + gap * len(blocks[-1][1]) <= start + 1e-9:
                break
            members = blocks.pop()[1] + members
            centre = sum(wanted[m] - gap * k for k, m in enumerate(members)) / len(members)
            start = max(low, centre)
        blocks.append((start, members))
    placed = [0.0] * count
    for start, members in blocks:
        for k, member in enumerate(members):
            placed[member] = start + gap * k
    return placed
