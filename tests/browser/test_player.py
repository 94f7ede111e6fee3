"""The player in a browser: what it shows is the state of the step, whichever way one came there."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from drr.analysis.explain import explain, explain_visit
from drr.charts.palette import LIGHT
from drr.charts.stage import plotly_values
from drr.charts.stage_layout import stage_layout
from drr.charts.stage_values import guess_state, stage_values
from drr.charts.survey import survey
from drr.simulation.recording import Run
from drr.simulation.state import StepKind
from tests.browser.helpers import StreamlitServer, wait_until_settled
from tests.support import ROOT
from tests.ui.player_runs import named_run

PAGE = Path(__file__).parent / "pages" / "player_page.py"
RANDOM_RUNS = ("random-3-5-3", "random-4-2-1", "random-5-14-9")

# Moves the playhead along a list of positions and reads the figure back after each.
WALK = """
async ([steps, guess]) => {
  const player = document.querySelector(".rp").parentElement.ringside.player;
  const frames = (n) => new Promise((done) => {
    const next = () => (n-- > 0 ? requestAnimationFrame(next) : done());
    next();
  });
  if (guess !== player.isGuessing) player.setGuessing(guess);
  const graph = player.stage.graph;
  const read = () => Object.fromEntries(graph.data.filter((t) => player.stage.uids.includes(t.uid)).map((t) => [t.uid, {
    x: t.x, y: t.y, base: t.base, text: t.text, textfont: t.textfont, marker: {size: t.marker?.size},
  }]));
  const words = () => [...graph.querySelectorAll(".textpoint text")].map((e) => e.textContent.trim()).filter(Boolean);
  const seen = [];
  for (const step of steps) {
    player.moveTo({step, visit: -1});
    await frames(4);
    seen.push(JSON.parse(JSON.stringify({values: read(), words: words(), scrub: player.transport.range.value})));
  }
  return seen;
}
"""
# Every shape and word as it stands on the page (ids of patterns differ from plot to plot), after moving to a step and
# after drawing the step anew.
PICTURES = """
async (steps) => {
  const player = document.querySelector(".rp").parentElement.ringside.player;
  const { stage, Plotly } = player;
  const read = () => [
    [...stage.graph.querySelectorAll(".points path, .js-line, .js-fill, .fills path")].map((e) => [
      e.getAttribute("d"), e.getAttribute("transform"), e.style.fill.startsWith("url") ? "pattern" : e.style.fill,
    ]),
    [...stage.graph.querySelectorAll(".textpoint text")].map((e) => [
      e.textContent, e.getAttribute("x"), e.getAttribute("y"), e.style.fill, e.style.fontWeight,
    ]),
  ];
  const pairs = [];
  for (const step of steps) {
    player.moveTo({step, visit: -1});
    const moved = read();
    Plotly.purge(stage.graph);
    await stage.draw(Plotly, stage.stage, player.values());
    pairs.push([stage.isFast, moved, read()]);
  }
  return pairs;
}
"""
PLAYER = "document.querySelector('.rp').parentElement.ringside.player"

OpenPlayer = Callable[..., Page]


@pytest.fixture(scope="module")
def player_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamlitServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with StreamlitServer(PAGE, tmp_path_factory.mktemp("player") / "server.log") as server:
            yield server


@pytest.fixture
def open_player(new_page: Callable[..., Page], player_server: StreamlitServer) -> OpenPlayer:
    def open_page(query: str = "run=premium", *, width: int = 1300, reduced_motion: bool = False) -> Page:
        page = new_page(viewport=(width, 1000), reduced_motion=reduced_motion)
        page.goto(f"{player_server.url}/?{query}", wait_until="commit")
        ready(page)
        return page

    return open_page


def ready(page: Page) -> None:
    page.locator(".rp[data-ready=true]").first.wait_for(timeout=60_000)
    wait_until_settled(page)


def width_of(page: Page) -> int:
    return page.evaluate(f"{PLAYER}.stage.stage.plan.width")


def expected(run: Run, step: int, width: int, *, guess: bool = False) -> dict[str, Any]:
    layout = stage_layout(survey(run), width=width)
    hides = guess and step >= 0 and run.kinds[step] in (StepKind.DECISION, StepKind.EMPTY_CALL, StepKind.HEAD_ERROR)
    state = guess_state(run, step) if hides else run.state_at(step)
    return plotly_values(stage_values(layout, state, run.cost_tokens, guess=hides), LIGHT)


def assert_shows(seen: dict[str, Any], wanted: dict[str, Any], step: int) -> None:
    assert seen["scrub"] == str(step)
    for uid, attributes in wanted.items():
        for name, value in attributes.items():
            found = seen["values"][uid][name]
            if name == "textfont":
                found = {part: found[part] for part in value}
            assert same(found, value), (step, uid, name)
    for text in wanted["words"]["text"]:
        assert text.strip() in ("", *seen["words"]), (step, text)


def same(found: Any, wanted: Any) -> bool:
    """Equal, but for the last digits of floating-point numbers."""
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, int | float):
        return bool(found == pytest.approx(float(wanted), rel=1e-9, abs=1e-6))
    return bool(found == wanted)


def assert_shows_all(page: Page, run: Run, steps: list[int], *, guess: bool = False) -> None:
    width = width_of(page)
    for step, seen in zip(steps, page.evaluate(WALK, [steps, guess]), strict=True):
        wanted = expected(run, step, width, guess=guess)
        sizes = {uid: values for uid, values in wanted.items() if "marker" in values}
        for uid, values in sizes.items():
            assert seen["values"][uid]["marker"]["size"] == pytest.approx(values["marker"]["size"]), (step, uid)
        assert_shows(seen, {uid: v for uid, v in wanted.items() if uid not in sizes}, step)


# --- the picture ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RANDOM_RUNS)
def test_the_page_shows_the_state_of_every_step_forwards_and_backwards(open_player: OpenPlayer, name: str):
    run = named_run(name)
    page = open_player(f"run={name}")
    steps = sorted(random.Random(name).sample(range(-1, run.n_steps), 20))
    assert_shows_all(page, run, steps)
    assert_shows_all(page, run, steps[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_a_hundred_steps_of_each_of_twenty_more_runs_are_shown(open_player: OpenPlayer, seed: int):
    name = f"random-{seed}-{1 + seed % 14}-{1 + seed % 9}"
    run = named_run(name)
    page = open_player(f"run={name}")
    steps = random.Random(name).sample(range(-1, run.n_steps), min(100, run.n_steps))
    assert_shows_all(page, run, steps)


@pytest.mark.parametrize("name", RANDOM_RUNS)
def test_moving_to_a_step_draws_the_picture_of_that_step(open_player: OpenPlayer, name: str):
    run = named_run(name)
    page = open_player(f"run={name}")
    steps = random.Random(name).sample(range(-1, run.n_steps), 6)
    for step, (is_fast, moved, fresh) in zip(steps, page.evaluate(PICTURES, steps), strict=True):
        assert is_fast
        assert moved == fresh, step


def test_guessing_shows_what_the_call_found(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    page = open_player("run=random-3-5-3")
    assert_shows_all(page, run, [*run.decision_steps[5:50:9], 0], guess=True)


def test_numbers_beyond_a_browser_s_own_are_shown_exactly(open_player: OpenPlayer):
    run = named_run("wide")
    page = open_player("run=wide")
    assert max(c.quantum for c in run.profile.classes) > 2**53
    assert_shows_all(page, run, list(range(-1, run.n_steps)))


def test_a_run_with_workers_that_come_and_go_is_shown(open_player: OpenPlayer):
    run = named_run("changes")
    page = open_player("run=changes")
    assert_shows_all(page, run, list(range(-1, run.n_steps)))


def test_a_rival_arbiter_is_shown(open_player: OpenPlayer):
    for name in ("rival-1", "rival-4"):
        run = named_run(name)
        page = open_player(f"run={name}")
        assert_shows_all(page, run, list(range(-1, run.n_steps, 13)))


def test_by_rule_every_look_is_a_place_of_the_playhead(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    page = open_player("run=random-3-5-3")
    step = max(run.decision_steps, key=lambda s: len(run.state_at(s).visits))
    visits = run.state_at(step).visits
    page.evaluate(f"{PLAYER}.setMode('rule'); {PLAYER}.moveTo({{step: {step - 1}, visit: -1}})")
    deficits = [c.deficit_tokens for c in run.state_at(step - 1).classes]
    for k, visit in enumerate(visits):
        page.locator(".rp").press("ArrowRight")
        deficits[visit.class_index] = visit.deficit_after
        state = page.evaluate(
            f"(({{classes, cursor, winner, visits}}) => ({{classes, cursor, winner, n: visits.length}}))"
            f"({PLAYER}.state)"
        )
        assert [c["deficit"] for c in state["classes"]] == deficits
        assert (state["cursor"], state["n"]) == (visit.class_index, k + 1)
        assert (state["winner"] >= 0) == (visit.charged_tokens > 0)
        expect(page.locator(".rp-sentence")).to_contain_text(explain_visit(run, step, k))
    page.locator(".rp").press("ArrowRight")
    assert page.evaluate(f"{PLAYER}.position") == {"step": step, "visit": -1}
    expect(page.locator(".rp-sentence")).to_contain_text(explain(run, step).headline)


# --- what stays ----------------------------------------------------------------------------------------------


def step_of(page: Page) -> int:
    return page.evaluate(f"{PLAYER}.position.step")


def test_the_step_survives_reruns_other_pages_and_widths(open_player: OpenPlayer):
    page = open_player("run=premium&start=700")
    assert step_of(page) == 700
    page.locator(".rp").press("ArrowRight")
    there = step_of(page)
    page.get_by_role("button", name="Rerun").click()
    wait_until_settled(page)
    assert step_of(page) == there
    page.set_viewport_size({"width": 820, "height": 1000})
    expect(page.locator(".rp")).to_have_attribute("data-ready", "true")
    page.wait_for_function(f"{PLAYER}.stage.stage.plan.width < 800")
    assert step_of(page) == there
    page.set_viewport_size({"width": 1300, "height": 1000})
    page.get_by_role("link", name="Elsewhere").click()
    expect(page.get_by_role("heading", name="Elsewhere")).to_be_visible()
    expect(page.locator(".rp")).to_have_count(0)
    page.get_by_role("link", name="Watching").click()
    ready(page)
    assert step_of(page) == there
    expect(page.locator(".rp-sentence")).to_contain_text(explain(named_run("premium"), there).headline)


def test_a_new_run_keeps_the_simulated_time(open_player: OpenPlayer):
    old, new = named_run("premium"), named_run("premium-64")
    page = open_player("run=premium&start=1500")
    first = page.locator(".rp").get_attribute("data-run")
    page.get_by_role("button", name="Another run").click()
    expect(page.locator(".rp")).not_to_have_attribute("data-run", first or "")
    wait_until_settled(page)
    step = step_of(page)
    assert new.times_ms[step] == old.times_ms[1500]
    expect(page.locator(".rp-sentence")).to_contain_text(explain(new, step).headline)


def test_python_hears_of_the_step_at_most_four_times_a_second_and_exactly_at_rest(open_player: OpenPlayer):
    page = open_player("run=premium&start=-1")
    page.evaluate(f"""() => {{
        const sender = {PLAYER}.sender, send = sender.send; window.sent = [];
        sender.send = (name, view) => {{ window.sent.push([performance.now(), view.step]); send(name, view); }};
    }}""")
    page.get_by_label("Speed").select_option("100")
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(3000)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(600)
    sent = page.evaluate("window.sent")
    times = [at for at, _ in sent]
    assert len(sent) >= 3
    assert all(b - a >= 245 for a, b in pairwise(times))
    assert sent[-1][1] == step_of(page)


def test_python_can_move_the_playhead(open_player: OpenPlayer):
    page = open_player("run=premium")
    page.get_by_role("button", name="Go to step 40").click()
    page.wait_for_function(f"{PLAYER}.position.step === 40")
    page.locator(".rp").press("ArrowRight")
    page.get_by_role("button", name="Rerun").click()
    wait_until_settled(page)
    assert step_of(page) != 40


def test_linked_players_stand_at_the_same_simulated_time(open_player: OpenPlayer):
    page = open_player("run=premium&also=premium-64&linked=both&start=100")
    expect(page.locator(".rp[data-ready=true]")).to_have_count(2)
    page.locator(".rp").first.press("End")
    page.locator(".rp").first.press("ArrowLeft")
    one, other = page.evaluate("""[...document.querySelectorAll('.rp')].map((e) => {
        const p = e.parentElement.ringside.player; return [p.position.step, p.run.times[p.position.step]]; })""")
    run = named_run("premium-64")
    assert other == [run.step_at_time(one[1]), run.times_ms[run.step_at_time(one[1])]]


# --- working it ----------------------------------------------------------------------------------------------


def test_the_stage_is_worked_without_a_mouse(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    page = open_player("run=random-3-5-3&start=-1")
    page.locator(".rp").focus()
    assert page.evaluate("getComputedStyle(document.querySelector('.rp-bar')).outlineStyle") == "solid"

    def press(key: str) -> int:
        page.keyboard.press(key)
        page.wait_for_timeout(60)
        return step_of(page)

    decisions = list(run.decision_steps)
    assert press("ArrowRight") == decisions[0]
    assert press("Shift+ArrowRight") == decisions[10]
    assert press("ArrowLeft") == decisions[9]
    assert press("End") == run.n_steps - 1
    assert press("Home") == -1
    bulks = [s for s in decisions if run.state_at(s).bulk_rounds]
    refused = [s for s, kind in enumerate(run.kinds) if kind == StepKind.REFUSED]
    assert press("g") == bulks[0]
    assert press("Home") == -1
    assert press("r") == refused[0]
    press("Home")
    before = run.state_at(-1)
    for step in range(run.n_steps):
        now = run.state_at(step)
        stopped = {(lane.class_index, lane.endpoint) for lane in now.lanes if lane.blocked_by}
        if stopped - {(lane.class_index, lane.endpoint) for lane in before.lanes if lane.blocked_by}:
            break
        before = now
    page.keyboard.press("b")
    page.wait_for_function(f"{PLAYER}.position.step === {step}")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.rp') !== null")


def test_playing_stops_at_a_breakpoint(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    page = open_player("run=random-3-5-3&start=-1")
    page.get_by_text("stop at…").click()
    page.get_by_label("a deficit above").check()
    page.get_by_label("Deficit in tokens").fill("2500")
    page.keyboard.press("Escape")
    page.get_by_label("Speed").select_option("1000")
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Play").wait_for(timeout=20_000)
    first = next(s for s in range(run.n_steps) if any(c.deficit_tokens > 2500 for c in run.state_at(s).classes))
    assert step_of(page) == first
    expect(page.locator(".rp-note")).to_contain_text("a deficit rises above 2,500 tokens")


def test_guess_first_hides_the_winner_until_asked(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    step = run.decision_steps[12]
    winner = run.class_names[run.class_index[run.step_request[step]]]
    page = open_player(f"run=random-3-5-3&start={step}")
    expect(page.locator(".rp-sentence")).to_contain_text(explain(run, step).headline)
    page.locator(".rp").press("q")
    expect(page.get_by_role("group", name="Who is next?")).to_be_visible()
    expect(page.locator(".rp-sentence")).to_be_hidden()
    assert explain(run, step).headline not in page.locator(".rp").inner_text()
    assert "goes" not in page.locator(".rp-stage").inner_text()
    assert page.locator(".rp-here").inner_text().count(winner) == 0
    page.locator(".rp-guess").get_by_role("button", name=winner, exact=True).click()
    expect(page.locator(".rp-verdict")).to_contain_text("Right.")
    expect(page.locator(".rp-sentence")).to_contain_text(explain(run, step).headline)


def test_who_asks_for_less_motion_plays_slowly_at_first(open_player: OpenPlayer):
    page = open_player("run=premium", reduced_motion=True)
    assert page.get_by_label("Speed").input_value() == "5"


def test_the_numbers_are_in_a_table_too(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    step = run.decision_steps[30]
    page = open_player(f"run=random-3-5-3&start={step}")
    page.get_by_text("Numbers of this step").click()
    state = run.state_at(step)
    rows = page.locator(".rp-tables table").first.locator("tbody tr").all_inner_texts()
    for name, here, row in zip(run.class_names, state.classes, rows, strict=True):
        cells = row.split("\t")
        assert cells[0] == name
        assert cells[2] == f"{here.deficit_tokens:,}"
        assert cells[4:6] == [f"{here.waiting_requests:,}", f"{here.waiting_tokens:,}"]


# --- log and timelines ---------------------------------------------------------------------------------------


def test_the_log_follows_filters_and_moves_the_playhead(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    step = run.decision_steps[30]
    page = open_player(f"run=random-3-5-3&start={step}")
    here = page.locator(".rp-row.rp-here")
    expect(here.locator("span").first).to_have_text(f"{step + 1:,}")
    page.get_by_label("Which events").select_option("refusals")
    page.get_by_label("Events of which class").select_option("0")
    mine = [
        s
        for s, kind in enumerate(run.kinds)
        if kind in (StepKind.REFUSED, StepKind.ERROR, StepKind.HEAD_ERROR) and run.class_index[run.step_request[s]] == 0
    ]
    expect(page.locator(".rp-count")).to_have_text(f"{len(mine):,} of {run.n_steps:,}")
    page.get_by_label("Events of which class").select_option("-1")
    page.get_by_label("Which events").select_option("decisions")
    page.locator(".rp-row").first.click()
    assert step_of(page) in run.decision_steps
    expect(here).to_have_count(1)


def test_a_click_on_a_timeline_moves_the_playhead_and_a_zoom_stays(open_player: OpenPlayer):
    run = named_run("premium")
    page = open_player("run=premium&start=100")
    frame = page.locator(".rp-timeline-frame")
    page.locator(".rp-timeline .main-svg").first.wait_for()
    page.wait_for_function(f"{PLAYER}.timeline.graph._fullLayout !== undefined")
    page.evaluate(f"{PLAYER}.Plotly.relayout({PLAYER}.timeline.graph, {{'xaxis.range': [1000, 3000]}})")
    expect(page.get_by_role("button", name="whole run")).to_be_visible()
    page.get_by_title("Show or hide regular").click()
    page.get_by_role("button", name="Rerun").click()
    wait_until_settled(page)
    zoom = page.evaluate(f"{PLAYER}.timeline.graph._fullLayout.xaxis.range")
    assert zoom == [1000, 3000]
    assert page.get_by_title("Show or hide regular").get_attribute("aria-pressed") == "false"
    x = page.evaluate(f"""(() => {{ const t = {PLAYER}.timeline, a = t.graph._fullLayout.xaxis;
        return (a._offset + a.l2p(2000)) * t.scale; }})()""")
    frame.click(position={"x": x, "y": 60})
    page.wait_for_function(f"{PLAYER}.position.step !== 100")
    assert run.times_ms[step_of(page)] == pytest.approx(2000, abs=30)
    wait_until_settled(page)  # no hand leaves the player and presses elsewhere within 20 ms
    page.get_by_role("button", name="Another run").click()
    page.wait_for_function(f"{PLAYER}.timeline.figure?.run === {PLAYER}.run.id && !{PLAYER}.memory.zoom")
    assert page.get_by_role("button", name="whole run").is_hidden()


def test_the_csv_has_every_row_of_the_log(open_player: OpenPlayer):
    run = named_run("random-3-5-3")
    page = open_player("run=random-3-5-3")
    step = step_of(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert len(text.splitlines()) == run.n_steps + 1
    assert step_of(page) == step
    assert page.evaluate(f"{PLAYER}.report().csv") is None, "asked for once, made once"


# --- plotly.js -----------------------------------------------------------------------------------------------


def test_plotly_js_is_there_without_a_chart_of_streamlit_s_and_without_its_chunk(open_player: OpenPlayer):
    page = open_player("run=premium&plotly=package")
    assert page.evaluate("[...document.scripts].some((s) => /\\/media\\//.test(s.src))")
    assert re.match(r"\d+\.", page.evaluate("window.Plotly.version"))
    page = open_player("run=premium")
    assert page.evaluate("performance.getEntriesByType('resource').some((e) => /PlotlyChart/.test(e.name))")
    assert page.locator(".stPlotlyChart").count() == 0
