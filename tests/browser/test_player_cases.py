"""The player in cases people have reported elsewhere: classes that come and go, long runs, stale pictures, colours."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from drr.simulation.state import StepKind
from tests.browser import test_player
from tests.browser.helpers import StreamlitServer, wait_until_settled
from tests.browser.test_player import PLAYER, WALK, OpenPlayer, ready, step_of
from tests.ui.player_runs import long_run, named_run

player_server = test_player.player_server
open_player = test_player.open_player
__all__ = ["BrowserContext", "Callable", "Iterator", "StreamlitServer", "open_player", "player_server"]


def test_classes_that_come_and_go_keep_their_places_and_leave_no_ghosts(open_player: OpenPlayer):
    run = named_run("coming")
    page = open_player("run=coming&start=-1")
    middle, last = run.step_at_time(160.0), run.n_steps - 1
    shapes = f"JSON.stringify({PLAYER}.stage.graph.layout)"
    before = page.evaluate(shapes)
    first, mid, end, again = page.evaluate(WALK, [[0, middle, last, 0], False])
    assert first == again
    assert page.evaluate(shapes) == before
    for seen, step in ((first, 0), (mid, middle), (end, last)):
        state = run.state_at(step)
        for name in ("one", "two", "three"):
            assert name in " ".join(seen["words"])
        kept = seen["values"]["deficits.kept"]["x"]
        held = [c.deficit_tokens for c in state.classes]
        looked = {v.class_index for v in state.visits}
        assert [k for i, k in enumerate(kept) if i not in looked] == [h for i, h in enumerate(held) if i not in looked]
        assert all(kept[i] == 0 for i, c in enumerate(state.classes) if not c.waiting_requests and i not in looked)
    assert first["values"]["ring.halo"]["x"] == [-1e6], "nothing has been dispatched by a call at the first step"
    page.evaluate(f"{PLAYER}.moveTo({{step: {middle}, visit: -1}})")
    expect(page.locator(".rp-here span").first).to_have_text(f"{middle + 1:,}")
    expect(page.locator(".rp-said")).to_have_attribute("data-step", str(middle))
    assert page.get_by_label("Step", exact=True).input_value() == str(middle)
    assert f"step {middle + 1:,} of {run.n_steps:,}" in page.locator(".rp-stage").inner_text().replace("\u00a0", " ")


@pytest.mark.slow
def test_a_run_of_twenty_thousand_requests_is_played_and_scrubbed_and_downloaded_whole(open_player: OpenPlayer):
    run = long_run()
    page = open_player("run=long-10000")
    counts = page.evaluate(f"""(() => {{ const {{decisions, row, rowClass}} = {PLAYER}.run, n = [0, 0];
        for (const step of decisions.subarray(0, 10000)) n[rowClass[row[step]]] += 1; return n; }})()""")
    wanted = Counter(run.class_index[run.step_request[s]] for s in run.decision_steps[:10_000])
    assert counts == [wanted[0], wanted[1]]
    assert counts == pytest.approx([8000, 2000], abs=8)
    took = page.evaluate(f"""(() => {{ const at = performance.now(); let n = 0;
        for (const step of [40000, 5, 20000, 39000, 100]) {{ {PLAYER}.moveTo({{step, visit: -1}}); n += 1; }}
        return (performance.now() - at) / n; }})()""")
    assert took < 400, "milliseconds for a jump of the playhead"
    with page.expect_download(timeout=120_000) as download:
        page.get_by_role("button", name="CSV").click()
    with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
        kinds = Counter(row["kind"] for row in csv.DictReader(file))
    assert sum(kinds.values()) == run.n_steps
    assert kinds["decision"] == len(run.decision_steps)


def test_a_picture_that_is_not_of_this_text_says_so(open_player: OpenPlayer):
    page = open_player("run=premium")
    expect(page.locator(".rp-stale-note")).to_be_hidden()
    page.get_by_role("button", name="Stale").click()
    expect(page.locator(".rp-stale-note")).to_have_text("Not from this text.")
    assert float(page.evaluate("getComputedStyle(document.querySelector('.rp-stage')).opacity")) < 1
    page.get_by_role("button", name="Stale").click()
    expect(page.locator(".rp-stale-note")).to_be_hidden()


def test_every_new_run_takes_effect_and_the_playhead_and_focus_stay(open_player: OpenPlayer):
    page = open_player("run=premium&start=700")
    ids = set()
    for name in ("Another run", "First run", "Another run"):
        before = page.locator(".rp").get_attribute("data-run")
        page.get_by_role("button", name=name).click()
        expect(page.locator(".rp")).not_to_have_attribute("data-run", before or "")
        wait_until_settled(page)
        ids.add(page.locator(".rp").get_attribute("data-run"))
        assert step_of(page) >= 640
    assert len(ids) == 2


def colours(page: Page) -> dict[str, str]:
    """Class name -> colour in the ring, the log and the timelines."""
    found = json.loads(
        page.evaluate(f"""JSON.stringify({PLAYER}.run.classNames.map((name, i) => [name, [
            {PLAYER}.header.classes[i].colour,
            {PLAYER}.stage.graph.data.find((t) => t.uid === 'ring.node').marker.color[i],
            {PLAYER}.stage.graph.data.find((t) => t.uid === 'deficits.kept').marker.color[i],
            {PLAYER}.timeline.graph.data.find((t) => t.name === name).line.color,
        ]]))""")
    )
    for name, each in found:
        assert len(set(each)) == 1, name
    return {name: each[0] for name, each in found}


def test_classes_are_told_apart_without_colour_and_keep_theirs_in_the_next_run(open_player: OpenPlayer):
    page = open_player("run=random-6-6-3&next=random-7-5-2")
    page.wait_for_function(f"{PLAYER}.timeline.graph.data !== undefined")
    many = colours(page)
    marks = page.evaluate(f"{PLAYER}.header.classes.map((c) => c.symbol)")
    assert len(set(marks)) == 6
    lines = page.evaluate(
        f"{PLAYER}.timeline.graph.data.filter((t) => t.name).map((t) => t.line.dash + t.marker.symbol)"
    )
    assert len(set(lines)) == 6
    before = page.locator(".rp").get_attribute("data-run")
    page.get_by_role("button", name="Another run").click()
    expect(page.locator(".rp")).not_to_have_attribute("data-run", before or "")
    ready(page)
    page.wait_for_function(f"{PLAYER}.timeline.figure?.run === {PLAYER}.run.id")
    page.wait_for_timeout(300)
    fewer = colours(page)
    assert len(fewer) == 5
    assert fewer.items() <= many.items()


def test_refusals_and_blocked_heads_are_said_in_words(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    refused = next(s for s, kind in enumerate(run.kinds) if kind == StepKind.REFUSED)
    page = open_player(f"run=random-3-5-3&start={refused}")
    expect(page.locator(".rp-sentence")).to_contain_text(re.compile("refused"))
    words = " ".join(page.locator(".rp-stage .textpoint text").all_text_contents())
    assert "refused" in words
    assert "blocked" in words
