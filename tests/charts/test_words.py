from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from drr.charts.words import shorten, shorten_all, spread, text_width, tokens_text

NAME = st.from_regex(r"[A-Za-z0-9_.-]{1,60}", fullmatch=True)


@given(name=NAME, room=st.floats(40, 300))
def test_a_shortened_name_fits(name: str, room: float):
    short = shorten(name, room, 12)
    assert text_width(short, 12) <= room
    assert short == name or "\u2026" in short


@given(names=st.lists(NAME, unique=True, min_size=1, max_size=14), room=st.floats(60, 200))
def test_shortened_names_stay_different(names: list[str], room: float):
    short = shorten_all(names, room, 12)
    assert len(set(short)) == len(names)


def test_long_names_with_equal_ends_are_told_apart_by_their_place():
    names = [f"interactive-{k}-requests-with-long-context" for k in range(3)]
    short = shorten_all(names, 90, 12)
    assert [text[-2:] for text in short] == ["\u20261", "\u20262", "\u20263"]


@given(wanted=st.lists(st.floats(0, 300), min_size=1, max_size=20), gap=st.floats(1, 15))
def test_spread_labels_keep_their_distance_order_and_bounds(wanted: list[float], gap: float):
    placed = spread(wanted, gap, 0, 300)
    assert all(-1e-6 <= y <= 300 + 1e-6 for y in placed)
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    assert all(placed[b] - placed[a] >= gap - 1e-6 for a, b in pairwise(order))


def test_labels_that_have_room_stay_where_they_want_to_be():
    assert spread([10.0, 50.0, 90.0], 14, 0, 100) == [10.0, 50.0, 90.0]


def test_numbers_of_tokens_are_exact_until_they_get_long():
    assert tokens_text(9_999_999) == "9,999,999"
    assert tokens_text(12_300_000) == "12.3 million"
    assert tokens_text(2**63) == "9.22e18"
