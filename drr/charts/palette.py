"""Colours and marks of the classes, and the two themes.

A class has one look, its *slot*: a colour, a dash, a marker symbol and a pattern. The sixteen colours were searched
for, per ground, so that any two of the first eight lie at least 0.09 apart in OKLab, and any two of all sixteen at
least 0.05, for normal sight and for full protanopia, deuteranopia and tritanopia; the tests compute it again. From the
seventeenth class on colours return with another dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

_LIGHT = (
    *("#005CC9", "#D4741B", "#065426", "#B21E77", "#1997CE", "#886302", "#350D76", "#500911"),
    *("#0B3D3B", "#7A0053", "#657C4C", "#556EF7", "#9C866F", "#006D50", "#9C1508", "#6B1FA1"),
)
_DARK = (
    *("#60A0E8", "#F39138", "#29FAC9", "#B96390", "#89CAEB", "#F5DB37", "#7E68EF", "#E54134"),
    *("#A6F7FA", "#E6A9C6", "#A8D77A", "#597CC8", "#C5AF97", "#7D9E8D", "#E17274", "#AE94C2"),
)
_DASHES = ("solid", "8px,4px", "2px,3px", "10px,3px,2px,3px", "14px,4px", "10px,3px,2px,3px,2px,3px")
_SYMBOLS = (
    *("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down"),
    *("pentagon", "bowtie", "hexagram", "hourglass", "triangle-left", "triangle-right", "star-diamond", "octagon"),
)
_PATTERNS = ("", "/", ".", "\\", "x", "-", "+", "|")
_COLOURS = len(_LIGHT)
_STRONG = 8
_USUAL = {"premium": 0, "regular": 1, "batch": 2, "agents": 3, "cached": 4, "uncached": 7, "default": 0}
"""Names the samples use, so that the same example looks the same in every document."""


@dataclass(frozen=True, slots=True)
class Theme:
    """All colours of a figure that are no class's, and the class colours by slot."""

    name: str
    ground: str
    ink: str
    """Text, pointers, the winner's ring: at least 4.5:1 on the ground."""
    muted: str
    """Secondary text: at least 4.5:1 too."""
    grid: str
    warn: str
    """Text that says why something waits or was refused."""
    worker: str
    """Fill of worker bars, which belong to no class."""
    class_colours: tuple[str, ...]
    font: str = "Source Sans, Source Sans Pro, Noto Sans, DejaVu Sans, sans-serif"

    def colour(self, slot: int) -> str:
        """Colour of a slot's marks and lines, at least 3:1 on the ground."""
        return self.class_colours[slot % _COLOURS]

    def text_colour(self, slot: int) -> str:
        """The slot's colour, moved towards the ink as far as text needs (4.5:1)."""
        share = 0.0
        colour = self.colour(slot)
        while contrast(colour, self.ground) < 4.5:
            share += 0.05
            colour = mix(self.colour(slot), self.ink, share)
        return colour

    def pale(self, slot: int) -> str:
        """The slot's colour as a quiet fill; always drawn with an outline in the full colour."""
        return mix(self.colour(slot), self.ground, 0.6)


LIGHT = Theme(
    name="light",
    ground="#FFFFFF",
    ink="#1B1F24",
    muted="#5B636D",
    grid="#E3E7EC",
    warn="#8A5200",
    worker="#6B7480",
    class_colours=_LIGHT,
)
DARK = Theme(
    name="dark",
    ground="#0E1117",
    ink="#E8EAED",
    muted="#A3ABB5",
    grid="#2A313C",
    warn="#FFC46B",
    worker="#8F98A3",
    class_colours=_DARK,
)
THEMES: Mapping[str, Theme] = {"light": LIGHT, "dark": DARK}


@dataclass(frozen=True, slots=True)
class ClassStyle:
    """The look of one class in one theme."""

    slot: int
    colour: str
    text_colour: str
    pale: str
    dash: str
    symbol: str
    pattern: str


def class_slots(names: Iterable[str], *, keep: Mapping[str, int] | None = None) -> dict[str, int]:
    """Slot of every class, by name alone: the order of the names plays no part, and no two names share a slot.

    A name has a first choice of its own (its CRC-32, or a fixed one for the names the samples use) and moves on only
    where an alphabetically earlier name took it. So taking a class away can move a class that had given way to it;
    ``keep``, the slots of an earlier call, rules that out while a policy is edited. Up to eight classes use the eight
    strongest colours.
    """
    wanted = sorted(set(names))
    slots: dict[str, int] = {}
    if keep:
        for name in wanted:
            if name in keep and keep[name] not in slots.values():
                slots[name] = keep[name]
    taken = set(slots.values())
    for name in sorted(wanted, key=lambda n: (n not in _USUAL, n)):
        if name in slots:
            continue
        slot = next(s for s in _choices(name, len(wanted)) if s not in taken)
        slots[name] = slot
        taken.add(slot)
    return {name: slots[name] for name in wanted}


def class_styles(names: Iterable[str], theme: Theme, *, keep: Mapping[str, int] | None = None) -> dict[str, ClassStyle]:
    """Look of every class in ``theme``; see :func:`class_slots`."""
    return {name: style_of_slot(slot, theme) for name, slot in class_slots(names, keep=keep).items()}


def style_of_slot(slot: int, theme: Theme) -> ClassStyle:
    """Colour, dash, symbol and pattern of a slot. Every slot below 96 has a (colour, dash, symbol) of its own."""
    place, turn = slot % _COLOURS, slot // _COLOURS
    return ClassStyle(
        slot=slot,
        colour=theme.colour(slot),
        text_colour=theme.text_colour(slot),
        pale=theme.pale(slot),
        dash=_DASHES[(place + turn) % len(_DASHES)],
        symbol=_SYMBOLS[place],
        pattern=_PATTERNS[(place + turn) % len(_PATTERNS)],
    )


def _choices(name: str, how_many: int) -> Iterable[int]:
    first = _USUAL.get(name, crc32(name.encode()) % _STRONG)
    yield from ((first + i) % _STRONG for i in range(_STRONG))
    rest = max(_COLOURS - _STRONG, how_many)
    yield from (_STRONG + (crc32(name.encode()) + i) % (_COLOURS - _STRONG) for i in range(_COLOURS - _STRONG))
    yield from range(_COLOURS, _COLOURS + rest)


def mix(colour: str, other: str, share: float) -> str:
    """``colour`` with ``share`` (0..1) of ``other`` in it, mixed in sRGB."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * min(share, 1.0)):02X}" for a, b in pairs)


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, 0 to 1 (WCAG 2.2)."""
    red, green, blue = (_linear(value) for value in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two sRGB colours, 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)
