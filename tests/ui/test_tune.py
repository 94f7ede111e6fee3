"""The Tune page without a browser: what can be varied, what is run, what is shown, what goes to the Lab."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from drr.analysis.saved import VARIABLE, compare_saved, load, save_run
from drr.analysis.sweep import Axis, Sweep, with_setting
from drr.analysis.sweep_running import TrialResult
from drr.ui import runs, tune_saved, tune_tasks, tune_work
from drr.ui.jobs import Job
from drr.ui.tune_knobs import drawn_axis, knobs
from drr.ui.tune_tasks import SweepSlice
from drr.workload.scenarios import SCENARIOS, scenario
from tests.support import ROOT

BURST = scenario("premium_burst").experiment
SECONDS = 120


@pytest.fixture(scope="module", autouse=True)
def pool() -> Iterator[None]:
    """The worker processes end with the tests of this file."""
    yield
    runs.run_store().pool.close()
    runs.run_store.clear()


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.delenv(VARIABLE, raising=False)
    return AppTest.from_file(str(ROOT / "pages/tune.py"), default_timeout=SECONDS).run()


def press(page: AppTest, label: str) -> AppTest:
    return next(each for each in page.button if each.label.startswith(label)).click().run()


def wait_for(page: AppTest, key: str) -> AppTest:
    """Run the page again until there is no work under a key."""
    deadline = time.monotonic() + SECONDS
    while key in page.session_state and page.session_state[key] is not None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
        page.run()
    assert not page.exception
    return page


def texts(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.info, *page.success, *page.warning, *page.error]
    return "\n".join(each.value for each in parts).replace("\\", "")


# What can be varied


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_every_number_on_offer_can_be_set_over_its_whole_range(each: object) -> None:
    experiment = each.experiment  # type: ignore[attr-defined]
    if not experiment.policy_text:
        return
    found = knobs(experiment)
    assert len({knob.path for knob in found}) == len(found) > 3
    for knob in found:
        axis = knob.axis(knob.low, knob.high, 5)
        assert knob.now in axis.values
        for value in axis.values:
            with_setting(experiment, knob.path, value)
        assert len(axis.values) == len(set(axis.values)) <= 5
        same = with_setting(experiment, knob.path, int(knob.now) if knob.is_whole else knob.now)
        assert knobs(same) == found


def test_axes_of_other_sweeps_are_drawn_where_they_are_numbers() -> None:
    assert drawn_axis(BURST, Axis("engine.num_gpu_blocks", (10, 20))) is not None
    assert drawn_axis(BURST, Axis("cursor_rule", ("carry",))) is None
    assert drawn_axis(BURST, Axis("seed", (1, 2))) is None


def test_a_slice_ends_after_its_time_and_does_at_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep(base=scenario("spike").experiment, axes=(Axis("policy_classes.premium.quantum", (1, 2, 3)),))
    told: list[tuple[int, int]] = []
    parts: list[tuple[str, TrialResult]] = []

    def progress(over: int, total: int, part: object = None, /) -> None:
        told.append((over, total))
        parts.extend([] if part is None else [part])  # type: ignore[list-item]

    trials = tuple(sweep.trials())
    monkeypatch.setattr(tune_tasks, "SLICE_SECONDS", 0.0)
    SweepSlice(trials, 10_000).run(progress)
    assert [key for key, _ in parts] == [trials[0].key]
    assert (told[0], told[-1]) == ((0, 3), (1, 3))

    def cancel(over: int, total: int, part: object = None, /) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SweepSlice(trials, 10_000).run(cancel)
    parts.clear()
    SweepSlice(trials, 10).run(progress)
    assert "more than the 10 that are allowed here (RINGSIDE_MAX_REQUESTS sets it)" in parts[0][1].problem


# The page


def test_one_number_is_run_shown_and_a_point_goes_to_the_lab(page: AppTest) -> None:
    assert "From the Lab: quanta premium 512 and regular 128; 1 worker." in texts(page)
    wait_for(press(page, "Run 27 experiments"), "tune:one:work")
    done = page.session_state["tune:one:finished"]
    assert done.frame["seed"].nunique() == 3
    assert "No request was refused at any point." in texts(page)
    assert len(page.get("plotly_chart")) == 4
    page.session_state["tune:one:point"] = 2
    page.run()
    assert "Chosen: premium: quantum, tokens = 181".replace("Chosen:", "**Chosen:**") in texts(page)
    assert "+    quantum: 181" in page.code[0].value
    press(page, "Open in the Lab")
    assert "quantum: 181" in page.session_state["lab:policy"]


def test_two_numbers_make_a_grid(page: AppTest) -> None:
    page.session_state["tune:view"] = "Two numbers"
    page.session_state["tune:seeds"] = 1
    page.run()
    for label in ("tune:two:steps:policy_classes.premium.quantum", "tune:two:steps:policy_classes.regular.quantum"):
        page.number_input(key=label).set_value(3)
    page.run()
    wait_for(press(page, "Run 9 experiments"), "tune:two:work")
    assert page.session_state["tune:two:finished"].means["point"].nunique() == 9
    assert len(page.get("plotly_chart")) == 2


def test_a_range_that_is_none_and_too_many_points_are_refused(page: AppTest) -> None:
    page.number_input(key="tune:one:to:policy_classes.premium.quantum").set_value(10).run()
    assert "the range has to end above its start" in texts(page)
    assert next(each for each in page.button if each.label == "Run").disabled
    page.session_state["tune:view"] = "Two numbers"
    page.session_state["tune:seeds"] = 20
    page.run()
    for label in ("tune:two:steps:policy_classes.premium.quantum", "tune:two:steps:policy_classes.regular.quantum"):
        page.number_input(key=label).set_value(20)
    page.run()
    assert "are more than the 2,000 that are allowed here (RINGSIDE_MAX_SWEEP_RUNS sets it)" in texts(page)


def test_goals_become_quanta_and_bad_ones_are_named(page: AppTest) -> None:
    page.session_state["tune:view"] = "Goals"
    page.run()
    assert "premium share = 75 %" in page.text_area[0].value
    wait_for(press(page, "Find quanta"), "tune:goals:search")
    assert "premium 3, regular 1 keeps every goal." in texts(page)
    assert "It took 9 runs of the engine." in texts(page)
    assert "+    quantum: 3" in page.code[0].value
    page.text_area[0].set_value("premium shares 75").run()
    assert "this is no goal" in texts(page)
    assert next(each for each in page.button if each.label == "Find quanta").disabled
    page.selectbox(key="tune:goal_add").set_value("regular refused <= 0").run()
    assert page.text_area[0].value.endswith("\nregular refused <= 0")


def test_without_a_folder_saving_says_how_to_get_one(page: AppTest) -> None:
    page.session_state["tune:view"] = "Saved"
    page.run()
    assert "RINGSIDE_SAVED=" in page.code[0].value


def test_a_run_is_kept_under_a_name_once(page: AppTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    save_run(tmp_path, "older", BURST, BURST.run())
    page.session_state["tune:view"] = "Saved"
    page.run()
    page.text_input[0].set_value("mine").run()
    wait_for(press(page, "Keep it"), "tune:save:job")
    assert "mine is kept." in texts(page)
    assert load(tmp_path, "mine").experiment() == BURST
    assert page.dataframe[0].value["name"].tolist() == ["mine", "older"]
    press(page, "Keep it")
    assert "'mine' is there already" in texts(page)
    page.text_input[0].set_value("a b").run()
    assert "letters, digits" in texts(page)


def test_two_saved_runs_are_compared_in_words_for_people(tmp_path: Path) -> None:
    equal = scenario("equal_control").experiment
    pair = [save_run(tmp_path, name, each, each.run(record=False)) for name, each in (("four", BURST), ("even", equal))]
    shown = tune_saved.readable(compare_saved(*pair))
    assert list(shown.columns) == ["rule", "class", "figure", "four", "even", "difference"]
    assert shown.iloc[0].tolist() == ["documented", "premium", "share", "80.1 %", "50.1 %", "-30.0 points"]
    assert "median wait, s" in set(shown["figure"])


def test_what_earlier_sweeps_had_left_took_no_time() -> None:
    sweep = Sweep(base=BURST, axes=(Axis("policy_classes.premium.quantum", (64, 128)),), replications=5)
    trials = tuple(sweep.trials())
    results = {trial.key: TrialResult(()) for trial in trials[:5]}
    job = Job(1, "me", SweepSlice(trials, 1_000), submitted_s=0.0)
    work = tune_work.Work(sweep, trials, job, results, known_before=4, started_s=time.monotonic() - 60.0)
    left = work.progress().seconds_left
    assert left == pytest.approx(60.0 * (len(trials) - 5), abs=5.0), "one took a minute, the other four no time"


def test_an_invalid_policy_in_the_lab_is_said(page: AppTest) -> None:
    page.session_state["lab:policy"] = "policy_classes: 3"
    page.run()
    assert "What the Lab holds is not valid" in texts(page)
    assert not page.get("plotly_chart")


def test_typed_queues_are_tuned_with_their_quanta_as_a_policy(page: AppTest) -> None:
    page.session_state["held:copies"]["Lab"]["lab:workload_kind"] = "Typed queues"
    page.run()
    assert "From the Lab: quanta A 60, B 60 and C 60" in texts(page)
    page.number_input(key="tune:one:steps:policy_classes.A.quantum").set_value(3).run()
    page.selectbox(key="tune:seeds").set_value(1).run()
    wait_for(press(page, "Run 3"), "tune:one:work")
    assert set(page.session_state["tune:one:finished"].means["policy_class"]) == {"A", "B", "C"}


def test_what_cannot_run_at_all_is_said_and_nothing_is_drawn(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_MAX_REQUESTS", "100")
    wait_for(press(page, "Run 27"), "tune:one:work")
    assert "than the 100 that are allowed here (RINGSIDE_MAX_REQUESTS sets it)" in texts(page)
    assert not page.get("plotly_chart")
