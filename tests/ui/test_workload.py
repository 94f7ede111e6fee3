"""The Lab's Workload and Workers tabs, driven without a browser."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from drr.analysis.outcomes import completed_first
from drr.simulation.cluster import Change, TimedChange
from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.ui.lab_state import StoredTrace
from drr.ui.workload_typed import dispatches_at, is_held, with_press
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload, TypedWorkload
from drr.workload.link import from_file, to_file
from drr.workload.mapping import ClassMapping
from drr.workload.scenarios import SCENARIOS, Scenario, build, scenario
from drr.workload.spec_reading import dump_spec, load_spec, read_spec
from drr.workload.traces_formats import TraceSpec
from tests.support import skip_or_fail


def state_page() -> None:
    """A page that loads what the test asks for, and keeps what the Lab makes of it."""
    import streamlit as st

    from drr.ui import lab_state

    lab_state.prepare()
    if "experiment" in st.session_state:
        lab_state.load(st.session_state["experiment"])
    st.session_state["got"] = lab_state.inputs()


def parts_page() -> None:
    """The scenario picker and the two tabs, without the run beside them."""
    import streamlit as st

    from drr.ui import lab_state, workers_tab, workload_scenarios, workload_tab

    lab_state.prepare()
    inputs = lab_state.inputs()
    st.session_state["got"] = inputs
    workload_scenarios.show(inputs.experiment)
    with st.container(key="workload"):
        workload_tab.show(inputs)
    with st.container(key="workers"):
        workers_tab.show(inputs.experiment)


def opened(page: Callable[[], None] = parts_page) -> AppTest:
    at = AppTest.from_function(page, default_timeout=60).run()
    assert not at.exception
    return at


def got(at: AppTest) -> Any:
    assert not at.exception, [each.value for each in at.exception]
    return at.session_state["got"]


def said(at: AppTest) -> str:
    return "\n".join(each.value for kind in (at.caption, at.markdown, at.error, at.warning) for each in kind)


def field(at: AppTest, kind: str, label: str) -> Any:
    return next(each for each in getattr(at, kind) if each.label == label)


# Experiments in and out


def test_the_premium_burst_is_what_a_visitor_sees_first() -> None:
    at = opened()
    assert at.session_state["lab:scenario"] == "premium_burst"
    assert got(at).experiment == scenario("premium_burst").experiment
    assert "255" in said(at)
    run = got(at).experiment.run()
    assert completed_first(run, 320) == [255, 65]


@pytest.fixture(scope="module")
def lab() -> AppTest:
    return opened(state_page)


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_the_lab_gives_back_the_scenario_it_was_given(lab: AppTest, each: Scenario) -> None:
    lab.session_state["experiment"] = each.experiment
    lab.run()
    assert got(lab).experiment == each.experiment
    assert got(lab).experiment.key == each.experiment.key


def test_the_lab_gives_back_every_part_of_an_experiment(lab: AppTest, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"timestamp": 0, "input_length": 10, "output_length": 1, "hash_ids": [1]}\n')
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    mapping = ClassMapping("length", bounds_tokens=(2048,), headers=("regular", "premium"))
    experiment = Experiment(
        policy_text=scenario("premium_burst").experiment.policy_text,
        workload=TraceWorkload(
            "trace.jsonl", digest, mapping, spec=TraceSpec(time_unit="s"), lenient=True, first_rows=7, path=str(path)
        ),
        workers=3,
        dp_size=2,
        taints=((1, ("large-memory",)),),
        changes=(TimedChange(1500.0, Change("overload", 0)), TimedChange(4000.5, Change("recover", 0))),
        engine=EngineOptions(block_size=32, speedup_ratio=2.0, timing_model=FixedTiming(20.0, 5.0), max_model_len=900),
        cursor_rule="carry",
        arbiter="fcfs",
        arrival_speedup_ratio=1.5,
        seed=9,
    )
    lab.session_state["experiment"] = experiment
    lab.run()
    assert got(lab).experiment == experiment


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_choosing_a_scenario_fills_the_tabs_without_an_error(each: Scenario) -> None:
    at = opened()
    at.selectbox(key="lab:scenario").select(each.name).run()
    assert got(at).experiment == each.experiment
    assert not at.error
    assert each.watch[:20] in said(at).replace("\\", "")


def test_a_scenario_that_was_changed_can_be_loaded_again() -> None:
    at = opened()
    field(at, "number_input", "Workers").set_value(3).run()
    assert got(at).experiment.workers == 3
    at.button(key="lab:scenario_again").click().run()
    assert got(at).experiment == scenario("premium_burst").experiment
    assert "lab:scenario_again" not in [button.key for button in at.button]


def test_a_run_of_typed_queues_can_travel_to_another_process() -> None:
    run = build(scenario("join_leave"))
    copy = pickle.loads(pickle.dumps(run))
    assert copy.result_rows() == run.result_rows()
    assert copy.other_rule.cursor_rule == "carry"
    assert copy.other_rule.other_rule is copy


# Form and text


def test_an_edit_of_the_form_stands_in_the_text_and_changes_nothing_else_there() -> None:
    at = opened()
    text = "# kept: what the premium users do\n" + at.session_state["lab:spec"]
    type_spec(at, text)
    at.segmented_control(key="lab:spec_view").set_value("Form").run()
    field(at, "number_input", "Requests").set_value(200).run()
    assert at.session_state["lab:spec"] == text.replace("requests: 320", "requests: 200", 1) != text
    assert got(at).experiment.workload == SpecWorkload(at.session_state["lab:spec"])
    assert "520 requests" in said(at).replace("\\", "")


def type_spec(at: AppTest, text: str) -> None:
    """Another text in the editor of the spec; what the browser does for it is tested there."""
    at.segmented_control(key="lab:spec_view").set_value("Text").run()
    at.session_state["lab:spec"] = text
    at.run()


def test_an_edit_of_the_text_stands_in_the_form() -> None:
    at = opened()
    text = at.session_state["lab:spec"].replace("requests: 320", "requests: 12", 1)
    type_spec(at, text)
    at.segmented_control(key="lab:spec_view").set_value("Form").run()
    assert field(at, "number_input", "Requests").value == 12
    assert at.session_state["lab:spec"] == text, "looking at the form rewrites nothing"


def test_form_and_text_stay_in_step_through_every_shape_of_arrivals_and_lengths() -> None:
    at = opened()
    for label, shapes in (
        ("Arrivals", ("constant", "poisson", "on_off", "ramp", "spike", "diurnal", "closed_loop", "burst")),
        ("Prompt tokens", ("uniform", "lognormal", "exponential", "bimodal", "zipf", "empirical", "fixed")),
        ("Cache hits", ("fixed", "beta", "sessions", "none")),
    ):
        for shape in shapes:
            field(at, "selectbox", label).select(shape).run()
            assert got(at).experiment is not None, (shape, [d.text() for d in got(at).diagnostics])
            assert not got(at).diagnostics, shape
            assert field(at, "selectbox", label).value == shape
    stream = load_spec(at.session_state["lab:spec"]).streams[0]
    assert (stream.think_time_ms, stream.cache_hits, stream.requests) == (None, None, 320)


def test_a_field_that_may_be_empty_can_be_emptied() -> None:
    at = opened()
    field(at, "selectbox", "Arrivals").select("poisson").run()
    field(at, "number_input", "Duration, ms").set_value(5000.0).run()
    field(at, "number_input", "Requests").set_value(None).run()
    stream = load_spec(at.session_state["lab:spec"]).streams[0]
    assert (stream.requests, stream.duration_ms) == (None, 5000.0)
    field(at, "number_input", "Duration, ms").set_value(None).run()
    assert got(at).experiment is None
    assert "nothing ends this stream" in said(at)
    field(at, "number_input", "Requests").set_value(50).run()
    assert got(at).experiment is not None, "the form mends what it broke"


def test_shares_of_something_are_written_as_one_line() -> None:
    at = opened()
    field(at, "text_input", "Pinned to workers").set_value("0.25: 0, 1.0").run()
    field(at, "text_input", "Strict priority").set_value("0.1: 1; 0.2: 7").run()
    stream = load_spec(at.session_state["lab:spec"]).streams[0]
    assert stream.pinned is not None
    assert (stream.pinned.share, stream.pinned.workers) == (0.25, ((0, None), (1, 0)))
    assert [(each.share, each.level) for each in stream.strict_priority] == [(0.1, 1), (0.2, 7)]
    field(at, "text_input", "Pinned to workers").set_value("a quarter").run()
    assert any("a quarter" in each.value for each in at.error)
    assert load_spec(at.session_state["lab:spec"]).streams[0].pinned == stream.pinned
    field(at, "text_input", "Pinned to workers").set_value("").run()
    assert load_spec(at.session_state["lab:spec"]).streams[0].pinned is None


def test_streams_can_be_added_and_removed() -> None:
    at = opened()
    at.button(key="form:add").click().run()
    assert [each.name for each in load_spec(at.session_state["lab:spec"]).streams] == [
        "premium",
        "regular",
        "premium 2",
    ]
    assert field(at, "text_input", "Name of the stream").value == "premium 2"
    at.button(key="form:remove").click().run()
    assert [each.name for each in load_spec(at.session_state["lab:spec"]).streams] == ["premium", "regular"]
    assert got(at).experiment is not None


def test_a_bad_spec_is_told_with_line_and_column_and_the_place_is_marked() -> None:
    at = opened()
    text = at.session_state["lab:spec"].replace("shape: burst", "shape: brst", 1)
    type_spec(at, text)
    assert got(at).experiment is None
    (error,) = at.error
    line = next(number for number, each in enumerate(text.splitlines(), start=1) if "brst" in each)
    column = text.splitlines()[line - 1].index("brst") + 1
    assert f"line {line}, column {column}" in error.value
    assert "`burst`" in error.value
    written, caret = error.value.split("```text\n")[1].splitlines()[:2]
    assert written[caret.index("^") :].startswith("brst")
    at.segmented_control(key="lab:spec_view").set_value("Form").run()
    assert "Mend them" in at.info[0].value


# Typed queues


def lecture() -> AppTest:
    at = opened()
    at.selectbox(key="lab:scenario").select("lecture").run()
    return at


def test_an_arrival_is_added_at_the_end_of_its_class() -> None:
    at = lecture()
    at.selectbox(key="typed:class").select("B")
    at.number_input(key="typed:tokens").set_value(33)
    at.button(key="typed:arrive").click().run()
    assert "B (60): 50 30 33\n" in at.session_state["lab:typed"]
    assert got(at).experiment.run().requests.isl_tokens.count(33) == 1


def test_what_is_added_comes_after_the_dispatches_at_the_playhead(monkeypatch: pytest.MonkeyPatch) -> None:
    run = build(scenario("lecture"))
    third = run.decision_steps[2]
    monkeypatch.setattr("drr.ui.workload_typed._on_stage", lambda: (run, third))
    at = lecture()
    at.button(key="typed:arrive").click().run()
    assert "A (60): 25 45 10 30@3" in at.session_state["lab:typed"]


def test_a_worker_is_blocked_by_a_press_and_freed_by_the_next() -> None:
    lines = scenario("lecture").experiment
    assert isinstance(lines.workload, TypedWorkload)
    run = lines.run()
    held_text = with_press(lines.workload.text, run, run.decision_steps[2], 0)
    assert held_text.endswith("* hold 0 @3\n")
    held = replace(lines, workload=replace(lines.workload, text=held_text)).run()
    assert sum(dispatches_at(held, step) == 3 and is_held(held, step, 0) for step in range(held.n_steps))
    freed_text = with_press(held_text, held, held.n_steps - 1, 0)
    assert freed_text.endswith("* hold 0 @3\n* free 0 @3\n")
    freed = replace(lines, workload=replace(lines.workload, text=freed_text)).run()
    assert not is_held(freed, freed.n_steps - 1, 0)


def test_a_typed_session_saved_as_a_file_comes_back(lab: AppTest) -> None:
    at = lecture()
    at.button(key="typed:arrive").click().run()
    experiment = got(at).experiment
    lab.session_state["experiment"] = from_file(to_file(experiment).encode()).experiment
    lab.run()
    assert got(lab).experiment == experiment


def test_a_bad_line_of_typed_queues_is_told_with_its_place() -> None:
    at = lecture()
    at.text_area(key="lab:typed").set_value("A (60): 25 x\n").run()
    assert got(at).experiment is None
    assert "line 1, column 12" in at.error[0].value


# Traces


@pytest.fixture
def mooncake(shared_folder: Path) -> Path:
    path = shared_folder / "traces" / "mooncake_mixed_1000.jsonl"
    if not path.is_file():
        skip_or_fail("no trace mooncake_mixed_1000 in the shared folder")
    return path


def with_trace(path: Path) -> AppTest:
    at = opened()
    at.segmented_control(key="lab:workload_kind").set_value("Trace").run()
    at.file_uploader[0].upload(path.name, path.read_bytes(), "application/json").run()
    return at


def test_a_mooncake_trace_is_recognised_and_its_families_go_by_the_first_block(mooncake: Path) -> None:
    at = with_trace(mooncake)
    experiment = got(at).experiment
    assert "Mooncake JSONL" in said(at)
    assert "1,000 rows loaded" in said(at).replace("\\", "")
    assert experiment.workload.mapping.kind == "first_block"
    run = experiment.run()
    assert len(run.requests) == 1000
    assert set(run.requests.policy_header) >= {"premium", "regular"}
    (table, *_) = [each.value for each in at.dataframe if "requests" in each.value.columns]
    assert int(table["requests"].sum()) == 1000
    assert list(table["class"]) == ["premium", "regular"]


def test_a_packed_trace_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "three.jsonl.gz"
    rows = [{"timestamp": 1000 * i, "input_length": 64, "output_length": 2, "hash_ids": [i]} for i in range(3)]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    at = with_trace(path)
    assert len(got(at).experiment.run().requests) == 3


CSV = "when,prompt,answer,tier\n1.0,100,5,gold\n1.5,abc,5,gold\n2.0,300,6,free\n3.0,3000,7,gold\n"


def csv_trace(tmp_path: Path) -> AppTest:
    path = tmp_path / "own.csv"
    path.write_text(CSV)
    return with_trace(path)


def test_columns_that_are_not_known_can_be_named(tmp_path: Path) -> None:
    at = csv_trace(tmp_path)
    field(at, "selectbox", "timestamp (needed)").select("when").run()
    field(at, "selectbox", "input_length (needed)").select("prompt").run()
    field(at, "selectbox", "output_length").select("answer").run()
    field(at, "selectbox", "Times are in").select("s").run()
    assert "3 rows loaded, 1 left out" in said(at).replace("\\", "")
    (bad,) = [each.value for each in at.dataframe if "reason" in each.value.columns]
    assert bad["line"].tolist() == [3]
    assert "abc" in bad["reason"].tolist()[0]
    run = got(at).experiment.run()
    assert list(run.requests.isl_tokens) == [100, 300, 3000]
    assert run.arrival_ms[2] == pytest.approx(2000.0)


def test_every_kind_of_class_mapping_can_be_chosen_and_changed(tmp_path: Path) -> None:
    at = csv_trace(tmp_path)
    for label, column in (("timestamp (needed)", "when"), ("input_length (needed)", "prompt")):
        field(at, "selectbox", label).select(column).run()
    for kind in ("length", "percentage", "round_robin", "as_written", "column"):
        field(at, "selectbox", "Class of each request").select(kind).run()
        assert not [each.value for each in at.error], kind
        assert got(at).experiment.workload.mapping.kind == kind
        got(at).experiment.run()
    field(at, "selectbox", "Column").select("tier").run()
    field(at, "text_area", "Who gets which").set_value("gold: premium\nfree: regular").run()
    run = got(at).experiment.run()
    assert list(run.requests.policy_header) == ["premium", "regular", "premium"]
    field(at, "selectbox", "Class of each request").select("length").run()
    field(at, "text_input", "Bounds, tokens").set_value("200").run()
    assert list(got(at).experiment.run().requests.policy_header) == ["premium", "regular", "regular"]
    field(at, "text_input", "Bounds, tokens").set_value("200, many").run()
    assert any("many" in each.value for each in at.error)
    assert got(at).experiment.workload.mapping.bounds_tokens == (200,)


def test_what_is_no_trace_leaves_the_last_one_in_place(tmp_path: Path) -> None:
    at = csv_trace(tmp_path)
    held: StoredTrace = at.session_state["lab:trace"]
    at.file_uploader[0].upload("list.json", b"[1, 2]", "application/json").run()
    assert any("JSON list" in each.value for each in at.error)
    assert at.session_state["lab:trace"] == held


# Workers


def test_the_load_is_said_before_anything_runs() -> None:
    at = opened()
    assert "All 640 requests come at once" in said(at)
    at.selectbox(key="lab:scenario").select("hot_worker").run()
    assert "2 workers 5" in said(at).replace("\\", "")


def test_arrivals_go_past_the_ring_or_through_it_as_asked() -> None:
    at = opened()
    at.selectbox(key="lab:arrival_mode").select("through_ring").run()
    experiment = got(at).experiment
    assert experiment.arrivals == "through_ring"
    assert from_file(to_file(experiment).encode()).experiment == experiment
    at.selectbox(key="lab:scenario").select("spike").run()
    assert got(at).experiment.arrivals == "bypass", "the scenario's own"


def test_measured_ttfts_become_the_timing_of_the_engine() -> None:
    at = opened()
    field(at, "selectbox", "Timing of a pass").select("fitted to my TTFTs").run()
    points = "\n".join(f"{tokens} {2e-6 * tokens**2 + 0.02 * tokens + 12}" for tokens in (128, 512, 2048, 8192))
    at.text_area(key="lab:timing_points").set_value(points).run()
    timing = got(at).experiment.engine.timing_model
    assert timing.prefill == pytest.approx((2e-6, 0.02, 12.0))
    assert "largest residual 0.00 ms" in said(at).replace("\\", "")
    for tab in ("Policy", "Workers"):
        at.session_state["lab:tab"] = tab
        at.run()
    assert field(at, "selectbox", "Timing of a pass").value == "fitted to my TTFTs"
    assert at.text_area(key="lab:timing_points").value == points
    at.text_area(key="lab:timing_points").set_value("512 abc").run()
    assert any("line 1" in each.value for each in at.error)
    assert got(at).experiment.engine.timing_model == timing
    at.selectbox(key="lab:scenario").select("hot_worker").run()
    assert field(at, "selectbox", "Timing of a pass").value != "fitted to my TTFTs", "the scenario's own"


@pytest.mark.parametrize("kind", ["fixed time per pass", "tokens per second", "polynomial", "the mock engine's own"])
def test_every_kind_of_timing_runs(kind: str) -> None:
    at = opened()
    field(at, "selectbox", "Timing of a pass").select(kind).run()
    assert field(at, "selectbox", "Timing of a pass").value == kind
    run = got(at).experiment.run()
    assert run.aborted_because is None
    assert run.last_token_ms[-1] is not None


def test_overloads_and_taints_are_written_as_lines() -> None:
    at = opened()
    field(at, "number_input", "Workers").set_value(2).run()
    lines = "overload 0 @ 0.5 s\nrecover 0 @ 1500 ms"
    field(at, "text_area", "What happens to workers").set_value(lines).run()
    field(at, "text_area", "Taints").set_value("1: large-memory h100").run()
    experiment = got(at).experiment
    assert [(c.at_ms, c.change.what) for c in experiment.changes] == [(500.0, "overload"), (1500.0, "recover")]
    assert experiment.taints == ((1, ("large-memory", "h100")),)
    assert experiment.run().aborted_because is None
    field(at, "text_area", "What happens to workers").set_value("overload 0").run()
    assert any("line 1" in each.value for each in at.error)
    assert got(at).experiment.changes == experiment.changes


def test_the_form_reads_the_spec_of_every_scenario_and_writes_an_equal_one() -> None:
    for each in SCENARIOS:
        if isinstance(each.experiment.workload, SpecWorkload):
            spec = load_spec(each.experiment.workload.text)
            assert read_spec(dump_spec(spec)).spec == spec
