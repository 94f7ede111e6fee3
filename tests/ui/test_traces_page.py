"""The Traces page, driven without a browser."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from drr.policy import load_policy
from drr.policy.samples import sample
from drr.simulation.engine_options import EngineOptions
from drr.ui import lab_state
from drr.ui.traces_look import problems_csv
from drr.ui.traces_send import export_name
from drr.ui.traces_tasks import MooncakeTask, PolicyChoice
from drr.workload.experiment import Experiment
from drr.workload.link import from_file, to_file
from drr.workload.mapping import ClassMapping
from drr.workload.mooncake import read_mooncake
from drr.workload.traces_reading import RowProblem
from drr.workload.traces_sample import sample_trace
from tests.support import ROOT

WAIT_SECONDS = 60
BAD = """\
{"timestamp": 0, "input_length": 900, "output_length": 12, "hash_ids": [0, 1]}
{"timestamp": 20, "input_length": 640, "output_length": 7, "hash_ids": [0, 1]}
{"timestamp": 40, "input_length": 700, "output_length": 12 80, "hash_ids": [0, 3]}
{"timestamp": 60, "input_length": 512, "output_length": 9, "hash_ids": [4]}
{"timestamp": 80, "input_length": 51"""
TWELVE = [
    {"timestamp": 1000 * (row // 3), "input_length": 1000, "output_length": 5, "hash_ids": [row % 3, 100 + row]}
    | {"client": "abc"[row % 3]}
    for row in range(12)
]
OWN = "when;prompt;tier\n1.0;100;gold\n1.5;abc;gold\n3.0;300;free\n"


def jsonl(rows: Iterable[object]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def opened() -> AppTest:
    return settled(AppTest.from_file(str(ROOT / "pages/traces.py"), default_timeout=120).run())


def settled(at: AppTest) -> AppTest:
    """Run the page again until nothing of it is on its way any more; in a browser the progress bars do that."""
    for _ in range(300):
        assert not at.exception, [each.value for each in at.exception]
        if not any(button.label == "Cancel" for button in at.button):
            return at
        time.sleep(0.1)
        at.run()
    raise AssertionError("the page never settled")


def drop(at: AppTest, *files: tuple[str, bytes]) -> AppTest:
    for name, data in files:
        at.file_uploader[0].upload(name, data, "application/json")
    return settled(at.run())


def pick(at: AppTest, kind: str, label: str, value: object) -> AppTest:
    element = field(at, kind, label)
    element.select(value) if kind == "selectbox" else element.set_value(value)
    return settled(at.run())


def field(at: AppTest, kind: str, label: str) -> Any:
    return next(each for each in getattr(at, kind) if each.label.replace("\\", "") == label)


def said(at: AppTest) -> str:
    kinds = (at.subheader, at.caption, at.markdown, at.error, at.warning, at.info)
    return "\n".join(each.value for kind in kinds for each in kind).replace("\\", "")


def table(at: AppTest, column: str) -> Any:
    return next(each.value for each in at.dataframe if column in each.value.columns)


def classes(at: AppTest) -> dict[str, int]:
    found = table(at, "requests")
    return dict(zip(found["class"], map(int, found["requests"]), strict=True))


def test_an_empty_page_says_what_to_do() -> None:
    at = opened()
    assert "Drop the requests of a real deployment" in said(at)
    assert len(at.file_uploader) == 1
    assert not at.error


def test_the_made_up_trace_is_shown_with_all_its_figures() -> None:
    at = opened()
    at.button[0].click()
    at = settled(at.run())
    assert "901 requests" in said(at)
    assert "901 rows loaded, none left out" in said(at)
    assert int(table(at, "requests")["requests"].sum()) == 901
    cache = table(at, "cached")
    assert list(cache["cache"]) == ["upper bound", "bounded, per worker"]
    assert 0 < cache["cached"][1] <= cache["cached"][0] < 1
    assert "Both start empty (cold start)" in said(at)
    assert len(at.get("plotly_chart")) == 5


def test_a_picture_among_the_files_is_refused_and_the_rest_is_there() -> None:
    at = drop(opened(), ("p.png", b"\x89PNG\r\n\x1a\n\0"), ("twelve.jsonl", jsonl(TWELVE)))
    assert "12 requests" in said(at)
    assert [each.value.replace("\\", "") for each in at.error] == [
        "p.png: the first line is no UTF-8 text: byte 0x89 at column 1"
    ]


def test_a_file_with_bad_rows_goes_on_only_when_they_are_left_out() -> None:
    at = drop(opened(), ("bad.jsonl", BAD.encode()))
    assert "2 rows of 5 cannot be read" in said(at)
    found = table(at, "reason")
    assert list(found["line"]) == [3, 5]
    assert all("no valid JSON" in reason for reason in found["reason"])
    assert at.button(key="traces:send").disabled
    at.button(key="traces:leave_out").click()
    at = settled(at.run())
    assert "3 rows loaded, 2 left out" in said(at)
    assert not at.button(key="traces:send").disabled
    assert list(table(at, "reason")["line"]) == [3, 5], "what was left out stays in sight"


def test_columns_and_units_can_be_named() -> None:
    at = drop(opened(), ("own.csv", OWN.encode()))
    assert "Say which columns hold the time and the prompt length" in said(at)
    at = pick(at, "selectbox", "timestamp (needed)", "when")
    at = pick(at, "selectbox", "input_length (needed)", "prompt")
    at = pick(at, "selectbox", "Times are in", "s")
    assert "2 s" in said(at) or "2.0 s" in said(at)
    assert "1 row of 3 cannot be read" in said(at)
    at.button(key="traces:leave_out").click()
    at = settled(at.run())
    at = pick(at, "selectbox", "Class of each request", "column")
    at = pick(at, "selectbox", "Column", "tier")
    assert classes(at) == {"premium": 1, "regular": 1}
    at = pick(at, "selectbox", "free: 1 request", "premium")
    assert classes(at) == {"premium": 2, "regular": 0}
    assert "Reuse: this trace has no prefix blocks" in said(at)


def test_a_window_and_a_rate_change_what_is_counted() -> None:
    at = drop(opened(), ("twelve.jsonl", jsonl(TWELVE)))
    at = pick(at, "number_input", "From, s", 1.0)
    at = pick(at, "number_input", "To, s", 3.0)
    assert "6 of 12 requests, from 1 s to 3 s" in said(at)
    assert sum(classes(at).values()) == 6
    at = pick(at, "number_input", "Rate ×", 4.0)
    assert "4 × as fast" in said(at)
    at = pick(at, "number_input", "From, s", 50.0)
    assert "its end has to come after its start" in said(at)
    at.session_state["traces:to_s"] = None
    at = settled(at.run())
    assert "No request arrives from 50,000 ms on" in said(at)
    at = pick(at, "number_input", "From, s", 0.0)
    assert sum(classes(at).values()) == 12


def test_made_up_times_are_labelled() -> None:
    at = drop(opened(), ("twelve.jsonl", jsonl(TWELVE)))
    toggle = next(each for each in at.toggle if "Spread" in each.label)
    toggle.set_value(True)
    at = settled(at.run())
    assert "The spread times are made up" in said(at)
    assert "8 requests spread over the tick: these times are made up" in said(at)
    at = drop(opened(), ("own.jsonl", jsonl(TWELVE[:1])))
    assert not [each for each in at.toggle if "Spread" in each.label], "nothing to spread, nothing to ask"


def test_every_rule_gives_a_preview() -> None:
    at = drop(opened(), ("twelve.jsonl", jsonl(TWELVE)))
    assert classes(at) == {"premium": 4, "regular": 8}, "by the first block, the rest to the default family"
    for kind in ("column", "length", "percentage", "round_robin", "as_written"):
        at = pick(at, "selectbox", "Class of each request", kind)
        assert not at.error, kind
        assert sum(classes(at).values()) == 12
    at = pick(at, "selectbox", "Class of each request", "percentage")
    before = classes(at)
    counts = {tuple(classes(pick(at, "number_input", "Seed", seed)).values()) for seed in range(1, 6)}
    assert len(counts | {tuple(before.values())}) > 1, "another seed, another draw"
    at = pick(at, "selectbox", "Policy", "five_classes_models")
    assert len(classes(at)) == 5


def test_two_files_are_put_on_one_clock_and_become_two_classes() -> None:
    later = [{**row, "timestamp": int(row["timestamp"]) + 60_000} for row in TWELVE]
    at = drop(opened(), ("a.jsonl", jsonl(TWELVE)), ("b.jsonl", jsonl(later)))
    assert "24 requests" in said(at)
    assert "2 traces on one clock, as written" in said(at)
    assert classes(at) == {"premium": 12, "regular": 12}
    at = pick(at, "selectbox", "One clock for all files", "starts")
    assert "with their first arrivals together" in said(at)
    next(each for each in at.button if each.label == "Take away").click()
    at = settled(at.run())
    assert "12 requests" in said(at)


def test_what_was_chosen_survives_another_page() -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    at = drop(settled(at.switch_page("pages/traces.py").run()), ("twelve.jsonl", jsonl(TWELVE)))
    at = pick(at, "number_input", "From, s", 1.0)
    at = pick(at, "selectbox", "Class of each request", "length")
    at = pick(at, "text_input", "Bounds, tokens", "999")
    at = settled(at.switch_page("pages/premium_demo.py").run())
    at = settled(at.switch_page("pages/traces.py").run())
    assert field(at, "number_input", "From, s").value == 1.0
    assert field(at, "text_input", "Bounds, tokens").value == "999"
    assert "9 of 12 requests" in said(at)


def test_the_lab_runs_exactly_what_was_sent_and_a_shared_file_brings_it_back() -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    at = drop(settled(at.switch_page("pages/traces.py").run()), ("twelve.jsonl", jsonl(TWELVE)))
    at = pick(at, "number_input", "From, s", 1.0)
    at = pick(at, "number_input", "Rate ×", 2.0)
    at = pick(at, "number_input", "Workers", 2)
    at.button(key="traces:send").click()
    at = settled(at.run())
    assert not at.exception
    state = at.session_state
    assert (state["lab:workload_kind"], state["lab:trace_window"]) == ("Trace", (1000.0, None))
    assert (state["lab:speedup"], state["lab:workers"], state["lab:prefix_caching"]) == (2.0, 2, True)
    run = state["lab:result"].run
    assert len(run.requests) == 9
    assert max(run.arrival_ms) == 1000.0, "two seconds at twice the rate"
    headers = [run.requests.policy_header[row] for row in range(3)]
    assert headers == ["premium", "regular", None]


def test_an_experiment_with_a_window_is_saved_and_opened_again() -> None:
    experiment = lab_experiment()
    assert from_file(to_file(experiment).encode()).experiment == experiment


def lab_experiment() -> Experiment:
    from drr.workload.trace_workload import TraceWorkload

    trace = TraceWorkload("t.jsonl", "0" * 64, ClassMapping("first_block"), lenient=True, window_ms=(5.0, None))
    return Experiment(policy_text=sample("premium_4_to_1").text(), workload=trace, engine=EngineOptions())


def test_the_export_has_a_policy_class_on_every_mapped_request(tmp_path: Path) -> None:
    from drr.workload.trace_workload import TraceWorkload

    path = tmp_path / "twelve.jsonl"
    path.write_bytes(jsonl(TWELVE))
    trace = TraceWorkload("twelve.jsonl", "12", ClassMapping("column", column="client"), path=str(path), spread=True)
    policy = PolicyChoice(sample("premium_4_to_1").text())
    data = MooncakeTask(trace, 4.0, policy).run(lambda over, total: None)
    table = read_mooncake(data).requests
    assert table.policy_header[:3] == ["premium", "regular", None]
    profile = load_policy(policy.text).profile_for()
    wanted, size = trace.load(profile)
    run = Experiment(policy_text=policy.text, workload=trace, arrival_speedup_ratio=4.0).run()
    assert table.hash_ids == wanted.hash_ids
    assert size == 512
    assert table.timestamp_ms == list(run.arrival_ms), "the file has the times at which the Lab lets them arrive"


def test_names_of_exports_tell_what_is_in_them() -> None:
    assert export_name("azure code.csv.gz", 12, 0) == "azure-code.12-requests.mooncake.jsonl"
    assert export_name("a.csv + b.jsonl", 3, 2) == "a.csv-+-b.3-requests.2-left-out.mooncake.jsonl"
    assert export_name("../../x", 1, 0) == "x.1-requests.mooncake.jsonl"
    assert export_name(".csv", 1, 0) == "trace.1-requests.mooncake.jsonl"


def test_the_list_of_bad_rows_is_safe_in_a_spreadsheet() -> None:
    rows = list(csv.reader(io.StringIO(problems_csv([RowProblem(3, '=1+1 is "x", no'), RowProblem(5, "日本")]))))
    assert rows[0] == ["line", "reason"]
    assert rows[1][0] == "3"
    assert not rows[1][1].startswith("=")
    assert rows[2] == ["5", "日本"]


def test_the_made_up_trace_is_a_good_mooncake_file_with_reuse() -> None:
    reading = read_mooncake(sample_trace())
    assert not reading.problems
    assert {*reading.requests.policy_header} == {"premium", "regular", None}
    assert sample_trace() == sample_trace()


def test_the_labs_workers_are_kept_around_a_trace() -> None:
    def page() -> None:
        import streamlit as st

        from drr.ui import lab_state
        from drr.workload.experiment import TypedWorkload

        lab_state.prepare()
        st.session_state["lab:workers"] = 7
        st.session_state["got"] = lab_state.around(TypedWorkload("A (1): 1"), "")

    at = AppTest.from_function(page).run()
    assert at.session_state["got"].workers == 7
    assert lab_state.KINDS[2] == "Trace"
