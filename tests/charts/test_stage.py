from __future__ import annotations

import json
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.charts.palette import DARK, LIGHT
from drr.charts.stage import stage_json
from drr.charts.stage_keys import Sheet, draw_headers
from drr.charts.stage_plan import PARKED, StageLayout
from drr.charts.stage_reading import rows_shown
from drr.charts.stage_values import Values, guess_state, stage_values
from drr.charts.stage_words import class_word
from drr.charts.words import BLANK, text_width
from tests.charts.made_up import MadeUpRun, made_up_run

# classes, lanes, workers
SIZES = [(1, 1, 1), (2, 3, 1), (4, 7, 3), (4, 30, 12), (6, 10, 6), (14, 14, 1), (14, 64, 32), (1, 64, 64), (3, 20, 33)]
WIDTHS = [900, 740, 400]
SIZED = pytest.mark.parametrize("size", SIZES, ids=str)
EVERY_WIDTH = pytest.mark.parametrize("width", WIDTHS)


def figure(run: MadeUpRun, step: int, width: int = 900, theme: Any = LIGHT) -> dict[str, Any]:
    layout = run.layout(width)
    return stage_json(layout, stage_values(layout, run.state_at(step), run.cost_tokens), theme=theme)


def trace(fig: dict[str, Any], uid: str) -> dict[str, Any]:
    return next(t for t in fig["data"] if t["uid"] == uid)


def words_of(layout: StageLayout, values: Values) -> dict[str, list[str]]:
    """The changing words of the lanes by kind; they follow those of ring and deficits."""
    classes, rows = len(layout.survey.class_names), len(layout.lanes.rows)
    start = (2 if layout.ring.lines == 3 else 1) * classes + 1 + classes
    texts = values["words"]["text"]
    return {kind: texts[start + k * rows : start + (k + 1) * rows] for k, kind in enumerate(("names", "words", "more"))}


def shape_of(values: Any) -> Any:
    """A nested value with every array replaced by its length."""
    if isinstance(values, dict):
        return {key: shape_of(value) for key, value in values.items()}
    return len(values)


def boxes_of_text(fig: dict[str, Any]) -> list[tuple[str, float, float, float, float]]:
    """Estimated rectangles of all words on the page: text, left, top, right, bottom."""
    found = []
    for t in fig["data"]:
        if t.get("mode") != "text" or t["xaxis"] != "x5":
            continue
        font = t["textfont"]
        points = zip(t["x"], t["y"], t["text"], t["textposition"], font["size"], font["weight"], strict=True)
        for x, y, text, place, size, strength in points:
            if text == BLANK:
                continue
            # The estimate is an upper one; a real font is at most about as wide.
            wide = 0.94 * text_width(text, size, bold=strength == "bold")
            left = x - {"middle right": 0, "middle left": wide, "middle center": wide / 2}[place]
            found.append((text, left, y - size * 0.55, left + wide, y + size * 0.55))
    return found


@SIZED
@EVERY_WIDTH
def test_no_words_overlap_and_none_are_cut(size: tuple[int, int, int], width: int):
    run = made_up_run(*size, costs="near", limits="many")
    for step in (-1, 0, 1, 3):
        fig = figure(run, step, width)
        boxes = boxes_of_text(fig)
        for text, left, top, right, bottom in boxes:
            assert left >= 0, text
            assert right <= width + 1, text
            assert top >= 0, text
            assert bottom <= fig["layout"]["height"], text
        for a, b in combinations(boxes, 2):
            across = min(a[3], b[3]) - max(a[1], b[1])
            down = min(a[4], b[4]) - max(a[2], b[2])
            assert across <= 1 or down <= 2, (a, b)


@SIZED
@EVERY_WIDTH
@pytest.mark.parametrize("limits", ["none", "one", "two", "many"])
def test_every_mark_is_explained_in_a_key(size: tuple[int, int, int], width: int, limits: str):
    for costs in ("equal", "near", "wide"):
        layout = made_up_run(*size, costs=costs, limits=limits, steps=1).layout(width)
        assert draw_headers(Sheet(layout, LIGHT)) == []


@SIZED
def test_traces_lengths_and_axes_are_the_same_at_every_step(size: tuple[int, int, int]):
    run = made_up_run(*size)
    layout = run.layout(900)
    shapes = [shape_of(stage_values(layout, run.state_at(k), run.cost_tokens)) for k in range(-1, 8)]
    assert all(one == other for one, other in pairwise(shapes))
    figures = [figure(run, step) for step in range(-1, 8)]
    assert all(one["layout"] == other["layout"] for one, other in pairwise(figures))
    uids = [[t["uid"] for t in fig["data"]] for fig in figures]
    assert all(one == other for one, other in pairwise(uids))
    assert len(set(uids[0])) == len(uids[0]) <= 20


def test_only_what_plotly_moves_without_a_redraw_ever_changes():
    """Positions, bases, words, their tones and marker sizes; colours of bars, patterns and symbols stay."""
    run = made_up_run(4, 7, 3)
    values = stage_values(run.layout(900), run.state_at(0), run.cost_tokens)
    for uid, attributes in values.items():
        assert set(attributes) <= {"x", "y", "base", "text", "tone", "marker"}, uid
        assert set(attributes.get("marker", {"size": 0})) == {"size"}, uid
    assert set(values) <= {t["uid"] for t in figure(run, 0)["data"]}


@given(
    classes=st.integers(1, 14),
    lanes=st.integers(1, 64),
    workers=st.integers(1, 64),
    seed=st.integers(0, 999),
    step=st.integers(-1, 4),
)
def test_no_word_is_ever_an_empty_string(classes: int, lanes: int, workers: int, seed: int, step: int):
    run = made_up_run(classes, lanes, workers, seed=seed, steps=5)
    for attributes in stage_values(run.layout(740), run.state_at(step), run.cost_tokens).values():
        assert all(text and isinstance(text, str) for text in attributes.get("text", []))


@given(
    classes=st.integers(1, 14),
    lanes=st.integers(1, 64),
    workers=st.integers(1, 33),
    seed=st.integers(0, 999),
    step=st.integers(-1, 4),
)
def test_every_class_is_in_every_panel_with_nothing_where_it_has_nothing(
    classes: int, lanes: int, workers: int, seed: int, step: int
):
    run = made_up_run(classes, lanes, workers, seed=seed, steps=5)
    layout, state = run.layout(900), run.state_at(step)
    values = stage_values(layout, state, run.cost_tokens)
    kept = values["deficits.kept"]["x"]
    assert len(kept) == classes
    for index, here in enumerate(state.classes):
        if not here.waiting_requests:
            assert kept[index] == 0
        free, stopped = (values[f"ring.node{kind}"]["marker"]["size"][index] for kind in ("", "_blocked"))
        looks_blocked = here.is_blocked and state.winner != index
        assert (free == 0) == looks_blocked
        assert (stopped > 0) == looks_blocked
        assert sum(row.class_index == index for row in layout.lanes.rows) >= 1
    assert {lane for row in rows_shown(layout, state) for lane in map(id, row)} == {id(lane) for lane in state.lanes}
    waiting = sum(len(lane.waiting) for row in rows_shown(layout, state) for lane in row)
    assert waiting == sum(c.waiting_requests for c in state.classes)


@given(classes=st.integers(1, 14), lanes=st.integers(1, 64), seed=st.integers(0, 999), step=st.integers(0, 4))
def test_boxes_stand_in_order_inside_their_row_and_the_rest_is_counted(classes: int, lanes: int, seed: int, step: int):
    run = made_up_run(classes, lanes, 8, seed=seed, steps=5, costs="wide")
    layout, state = run.layout(900), run.state_at(step)
    plan, values = layout.lanes, stage_values(run.layout(900), state, run.cost_tokens)
    for place, shown in enumerate(rows_shown(layout, state)):
        slots = range(place * plan.slots, (place + 1) * plan.slots)
        drawn = [(values["lanes.waiting"]["base"][s], values["lanes.waiting"]["x"][s]) for s in slots]
        drawn = [box for box in drawn if box[0] != PARKED]
        heads = [values[f"lanes.{kind}"]["x"][place] for kind in ("head", "head_blocked")]
        if len(shown) != 1:
            assert drawn == []
            assert heads == [0, 0]
            continue
        lane = shown[0]
        assert [head > 0 for head in heads] == [not lane.blocked_by, bool(lane.blocked_by)]
        ends = [max(heads), *(base + wide for base, wide in drawn)]
        assert all(base > end for end, (base, _) in zip(ends, drawn, strict=False))
        assert ends[-1] <= plan.boxes_px
        left = len(lane.waiting) - 1 - len(drawn)
        assert words_of(layout, values)["more"][place] == (f"+{left:,}" if left else BLANK)


@given(seed=st.integers(0, 999), step=st.integers(0, 4))
def test_the_bars_of_a_class_add_up_to_what_it_held_before_it_paid(seed: int, step: int):
    run = made_up_run(5, 9, 4, seed=seed, steps=5)
    state = run.state_at(step)
    values = stage_values(run.layout(900), state, run.cost_tokens)
    for visit in state.visits:
        index = visit.class_index
        parts = [values[f"deficits.{part}"]["x"][index] for part in ("kept", "granted", "bulk")]
        assert sum(parts) == visit.deficit_after + visit.charged_tokens
        assert parts[0] == visit.deficit_before


def test_a_blocked_head_says_which_worker_it_waits_for_and_why():
    runs = (made_up_run(2, 4, 2, seed=seed) for seed in range(200))
    run = next(r for r in runs if any(len(lane.blocked_by) == 1 for lane in r.state_at(1).lanes))
    state = run.state_at(1)
    lane = next(lane for lane in state.lanes if len(lane.blocked_by) == 1)
    reason = lane.blocked_by[0]
    words = stage_values(run.layout(900), state, run.cost_tokens)["words"]["text"]
    wanted = f"waits for worker {reason.endpoint}: {reason.active_prefill_tokens:,} > {reason.limit_tokens:,} tokens"
    assert wanted in words


@SIZED
def test_nothing_is_told_by_colour_alone(size: tuple[int, int, int]):
    """The same step in one colour: blocked, winner and busy still have a shape or a word of their own."""
    run = made_up_run(*size)
    for step in range(4):
        state = run.state_at(step)
        values = stage_values(run.layout(900), state, run.cost_tokens)
        words = values["words"]["text"]
        for index, here in enumerate(state.classes):
            mine = words[index]
            if here.is_blocked and state.class_index != index:
                assert "blocked" in mine
            if state.winner == index:
                assert "goes" in mine
            word = class_word(state, index)[1]
            assert word in mine or "carry" in mine or len(state.classes) > 6
    fig = figure(run, 0)
    looks = {json.dumps(trace(fig, f"workers.{n}")["marker"].get("pattern")) for n in ("free", "part_busy", "busy")}
    assert len(looks) == 3
    symbols = trace(fig, "page.marks")["marker"]["symbol"][: size[0]]
    assert len(set(symbols)) == size[0]


def test_a_guess_shows_the_state_before_and_tells_no_winner():
    run = made_up_run(4, 6, 3)
    step = next(k for k in range(8) if run.state_at(k).winner >= 0)
    state = guess_state(run, step)
    assert state.winner == -1
    assert state.lanes == run.state_at(step - 1).lanes
    values = stage_values(run.layout(900), state, run.cost_tokens, guess=True)
    assert values["ring.halo"]["x"] == [PARKED]
    assert not any("goes" in text for text in values["words"]["text"])
    assert any("who is next?" in text for text in values["words"]["text"])
    hand = stage_values(run.layout(900), run.state_at(step), run.cost_tokens)["ring.cursor_before"]
    if run.state_at(step).cursor != run.state_at(step).cursor_before:
        assert values["ring.cursor"] == hand


def test_both_themes_differ_in_nothing_but_colours():
    run = made_up_run(4, 7, 3)

    def bare(fig: dict[str, Any]) -> str:
        text = json.dumps(fig)
        for theme in (LIGHT, DARK):
            for slot in range(16):
                for colour in (theme.colour(slot), theme.pale(slot)):
                    text = text.replace(colour, "#")
            for colour in (theme.ground, theme.ink, theme.muted, theme.grid, theme.warn, theme.worker):
                text = text.replace(colour, "#")
        return text

    assert bare(figure(run, 1, theme=LIGHT)) == bare(figure(run, 1, theme=DARK))
