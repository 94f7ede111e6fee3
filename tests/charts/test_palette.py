from __future__ import annotations

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.charts.palette import DARK, LIGHT, Theme, class_slots, class_styles, contrast, style_of_slot

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
NAMES = st.lists(st.from_regex(r"[A-Za-z0-9_.-]{1,12}", fullmatch=True), unique=True, min_size=1, max_size=40)

# Full colour blindness in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def linear(colour: str) -> list[float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def seen(colour: str, sight: str) -> tuple[float, float, float]:
    """OKLab coordinates of a colour as somebody with that sight sees it."""
    rgb = linear(colour)
    red, green, blue = (min(1.0, max(0.0, sum(m * v for m, v in zip(row, rgb, strict=True)))) for row in SIGHTS[sight])
    cones = (
        0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
        0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
        0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue,
    )
    a, b, c = (v ** (1 / 3) for v in cones)
    return (
        0.2104542553 * a + 0.7936177850 * b - 0.0040720468 * c,
        1.9779984951 * a - 2.4285922050 * b + 0.4505937099 * c,
        0.0259040371 * a + 0.7827717662 * b - 0.8086757660 * c,
    )


def distance(one: str, other: str, sight: str) -> float:
    return math.dist(seen(one, sight), seen(other, sight))


@THEMES
def test_every_class_colour_stands_out_from_its_ground(theme: Theme):
    for slot in range(64):
        style = style_of_slot(slot, theme)
        assert contrast(style.colour, theme.ground) >= 3
        assert contrast(style.text_colour, theme.ground) >= 4.5


@THEMES
def test_every_text_colour_of_a_theme_is_readable(theme: Theme):
    for colour in (theme.ink, theme.muted, theme.warn):
        assert contrast(colour, theme.ground) >= 4.5
    assert contrast(theme.worker, theme.ground) >= 3


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)


@THEMES
@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_lie_apart_for_every_sight(theme: Theme, sight: str):
    colours = [theme.colour(slot) for slot in range(16)]
    assert min(distance(a, b, sight) for a, b in combinations(colours[:8], 2)) >= 0.09
    assert min(distance(a, b, sight) for a, b in combinations(colours, 2)) >= 0.05


@THEMES
def test_no_two_of_sixty_four_classes_look_the_same_without_colour_and_with_it(theme: Theme):
    styles = [style_of_slot(slot, theme) for slot in range(64)]
    assert len({(s.colour, s.dash, s.symbol) for s in styles}) == 64
    assert len({(s.dash, s.symbol) for s in styles}) == 64, "told apart in grey as well"
    for one, other in pairwise(styles[:16]):
        assert one.dash != other.dash
        assert one.symbol != other.symbol
        assert one.pattern != other.pattern


@given(names=NAMES, data=st.data())
def test_the_order_of_the_classes_plays_no_part(names: list[str], data: st.DataObject):
    assert class_slots(data.draw(st.permutations(names))) == class_slots(names)


@given(names=NAMES)
def test_no_two_classes_of_a_run_share_a_slot(names: list[str]):
    slots = class_slots(names)
    assert set(slots) == set(names)
    assert len(set(slots.values())) == len(names)
    if len(names) <= 8:
        assert max(slots.values()) < 8
    if len(names) <= 16:
        assert len({style.colour for style in class_styles(names, LIGHT).values()}) == len(names)


@given(names=NAMES, others=NAMES, data=st.data())
def test_a_class_keeps_its_slot_while_others_come_and_go(names: list[str], others: list[str], data: st.DataObject):
    before = class_slots(names)
    left = data.draw(st.lists(st.sampled_from(names), unique=True))
    after = class_slots([*left, *others], keep=before)
    assert {name: after[name] for name in left} == {name: before[name] for name in left}
    assert len(set(after.values())) == len(after)


def test_a_class_that_gave_way_to_nobody_keeps_its_slot_without_a_memory():
    names = ["premium", "regular", "batch", "agents"]
    full = class_slots(names)
    for gone in names:
        left = class_slots([n for n in names if n != gone])
        assert left == {n: s for n, s in full.items() if n != gone}
