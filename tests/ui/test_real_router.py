"""The Real router page: with and without the wheel, what cannot be compared, hand-over, and the probe with consent."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from drr.charts.palette import DARK, LIGHT
from drr.charts.real import completion_figure, service_figure, shares_over_time
from drr.dynamo import side_by_side
from drr.dynamo.case import ReplayAnswer
from drr.dynamo.compare import answer_of, our_run
from drr.dynamo.probe_plan import ProbeError, ProbePlan
from drr.dynamo.side_by_side import SideBySide, case_of, compare_with_real
from drr.ui import real_replay, real_state
from drr.ui.limits import CONCURRENT_PROBES
from drr.ui.probe_job import ProbeBoard, ProbeJob
from drr.workload.scenarios import scenario
from tests.dynamo.fake_endpoint import FakeEndpoint, ScriptedWorker
from tests.dynamo.test_side_by_side import FakeRouter
from tests.support import ROOT

ABOVE = scenario("quanta_above_costs").experiment


@pytest.fixture(autouse=True)
def no_settings_of_the_shell(monkeypatch):
    for name in (real_state.KEY_VARIABLE, real_state.HOSTS_VARIABLE, CONCURRENT_PROBES.variable):
        monkeypatch.delenv(name, raising=False)


def page(**state: object) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages/real_router.py"), default_timeout=60)
    for name, value in state.items():
        app.session_state[name.replace("__", ":")] = value
    return app.run()


def probe_page(**state: object) -> AppTest:
    return page(real__tab=real_state.PROBE, **state)


def settled(app: AppTest, until: Callable[[AppTest], bool]) -> AppTest:
    """Run the page again until it shows something; in a browser a fragment does that."""
    for _ in range(300):
        if until(app):
            return app
        time.sleep(0.1)
        app.run()
    raise AssertionError("it never came")


def texts(app: AppTest) -> str:
    kinds = (app.subheader, app.markdown, app.caption, app.info, app.error, app.warning, app.success, app.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def button(app: AppTest, label: str):
    return next(each for each in app.button if each.label == label)


def comparison(monkeypatch, scenario_name: str = "quanta_above_costs") -> SideBySide:
    """A comparison with a router that is ours under the carry rule."""
    monkeypatch.setattr(side_by_side, "RouterProcess", FakeRouter)
    monkeypatch.setattr(side_by_side, "replay_real", lambda case, *, router: answer_of(our_run(case)))
    return compare_with_real(case_of(scenario(scenario_name).experiment))


# --- the replay's tab ------------------------------------------------------------------------------------------------


def test_without_the_wheel_the_page_says_how_to_install_it_and_still_hands_over(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    app = page()
    assert not app.exception
    assert "The real router is not here" in texts(app)
    assert "pip install ai-dynamo-runtime==1.6.1" in texts(app)
    assert "Run on the real router" not in [each.label for each in app.button]
    labels = {element.proto.label for element in app.get("download_button")}
    assert {"All as one zip", "trace.jsonl", "policy.yaml", "replay_real.py", "COMMANDS.md"} <= labels


def test_an_experiment_the_replay_cannot_run_is_explained():
    app = page(lab__workload_kind="Typed queues", lab__dp_size=2)
    assert "cannot run this experiment" in texts(app)
    assert "typed queues run on the manual worker model" in texts(app)
    assert not app.button
    app = page(lab__dp_size=2, lab__arbiter="strict")
    assert "its workers have no dp ranks" in texts(app)
    assert "one arbiter, DRR" in texts(app)


def test_an_invalid_lab_is_said():
    assert "What the Lab holds is not valid" in texts(page(lab__policy="policy_classes: 3"))


def test_a_result_names_the_rule_and_lists_the_rows_that_differ(monkeypatch):
    found = comparison(monkeypatch)
    monkeypatch.setattr(real_replay.job_slot, "ask", lambda slot, task, kind: real_replay.job_slot.Answer(found, found))
    monkeypatch.setattr(real_replay, "router_unavailable_because", lambda: None)
    app = page()
    assert "Share of service" not in texts(app)
    app = button(app, "Run on the real router").click().run()
    assert not app.exception
    assert "The carry rule explains every row of the real router, the documented rule does not." in texts(app)
    assert "carry: 640 of 640 rows identical; documented: " in texts(app)
    assert len(app.get("plotly_chart")) == 1
    frame = app.dataframe[0].value
    assert len(frame) == real_replay.ROWS_SHOWN
    assert f"The first 500 of {len(found.answer('documented').differing)}, in the order of time." in texts(app)
    assert list(frame.columns)[:3] == ["row", "class", "cost, tokens"]
    assert "released, ms, real" in frame.columns
    assert "worker, real" not in frame.columns  # the same everywhere
    control = next(each for each in app.get("button_group") if each.proto.label == "Ours under")
    assert control is not None
    app.session_state["real:rule"] = "carry"
    app = app.run()
    assert "No row differs under carry: all 640 are identical." in texts(app)
    app.session_state["held:copies"]["Lab"]["lab:workers"] = 2
    app = app.run()
    assert "The Lab has changed since the last comparison." in texts(app)


def test_a_replay_that_ended_early_says_why_and_draws_nothing(monkeypatch):
    found = comparison(monkeypatch, "refusal_storm")
    assert service_figure(found, theme=LIGHT) is None
    monkeypatch.setattr(real_replay.job_slot, "ask", lambda slot, task, kind: real_replay.job_slot.Answer(found, found))
    monkeypatch.setattr(real_replay, "router_unavailable_because", lambda: None)
    app = button(page(), "Run on the real router").click().run()
    assert "limit reached (current=32, limit=32)" in texts(app)
    assert "The real replay ends at the first request that meets a full class." in texts(app)
    assert not app.get("plotly_chart")


@pytest.mark.router
def test_the_labs_experiment_runs_on_the_real_router():
    app = button(page(), "Run on the real router").click().run()
    app = settled(app, lambda app: "rows identical" in texts(app))
    assert "carry: 640 of 640 rows identical; documented: 640 of 640 rows identical" in texts(app)
    assert "636 of 640 requests went through the ring" in texts(app)


@pytest.mark.router
def test_the_page_compares_no_more_requests_than_its_limit(monkeypatch):
    monkeypatch.setenv("RINGSIDE_MAX_REAL_REQUESTS", "100")
    app = button(page(), "Run on the real router").click().run()
    app = settled(app, lambda app: "requests" in texts(app) and bool(app.error))
    assert "at most 100 are compared here" in texts(app)


# --- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_overlay_has_a_line_per_class_and_side(monkeypatch, theme):
    figure = service_figure(comparison(monkeypatch), theme=theme)
    assert figure is not None
    lines = [trace for trace in figure.data if trace.x[0] is not None]
    assert [trace.name for trace in lines] == ["premium", "regular"] * 3
    real, carry, documented = (lines[i] for i in (0, 2, 4))
    assert list(real.y) == list(carry.y)
    assert list(real.y) != list(documented.y)
    assert real.line.width > carry.line.width
    assert documented.line.dash != carry.line.dash
    assert figure.layout.paper_bgcolor == theme.ground


def test_shares_are_those_of_all_tokens_released_by_then():
    rows = [side_by_side.ObservedRow("queued", at, 0, None, None, None) for at in (5.0, 1.0, 5.0)] + [
        side_by_side.ObservedRow("immediate", None, 0, None, None, None)
    ]
    times, shares = shares_over_time(rows, [0, 1, 1, 0], [30, 10, 60, 999], 2)
    assert times.tolist() == [1.0, 5.0]
    assert shares.tolist() == [[0.0, 0.3], [1.0, 0.7]]


def test_completions_are_counted_per_class_with_the_mark_at_the_first_ones():
    measured = ["premium", "premium", "regular", "premium"]
    figure = completion_figure(
        ("premium", "regular"), measured, ["premium", "regular"] * 2, planned=4, first=2, theme=LIGHT
    )
    lines = [trace for trace in figure.data if trace.x[0] is not None]
    assert [list(trace.y) for trace in lines] == [[0, 1, 1, 2, 2], [0, 0, 1, 1, 2], [0, 1, 2, 2, 3], [0, 0, 0, 1, 1]]
    assert [note.text for note in figure.layout.annotations] == ["first 2", "premium 2", "regular 0"]
    assert figure.layout.xaxis.range == (0, 4)


def test_a_live_picture_shows_the_prediction_until_the_measuring_has_come_so_far():
    figure = completion_figure(("a<b>",), [], ["a<b>"] * 4, planned=4, first=2, theme=LIGHT)
    assert [note.text for note in figure.layout.annotations] == ["first 2", "a&lt;b&gt; 2"]
    assert completion_figure(("a",), [], None, planned=4, first=2, theme=LIGHT).layout.xaxis.range == (0, 4)


# --- the probe's tab -------------------------------------------------------------------------------------------------


def test_nothing_is_sent_before_the_named_target_is_agreed_to():
    worker = ScriptedWorker(24, "pppr", {"p": "premium", "r": "regular"})
    with FakeEndpoint(worker) as endpoint:
        app = probe_page(probe__url=endpoint.url, probe__classes="premium=12 regular=12", probe__tokens=16)
        host = endpoint.url.removeprefix("http://")
        assert f"Send 24 requests (12 premium and 12 regular) of 16 tokens to {host} (http, model m)" in texts(app)
        assert button(app, "Send").disabled
        assert app.checkbox[0].label == f"I agree: send this to {host}"
        app = app.checkbox[0].check().run()
        assert not button(app, "Send").disabled
        assert endpoint.seen == []
        app = button(app, "Send").click().run()
        app = settled(app, lambda app: "completions: " in texts(app))
        assert "Of the first 12 completions: 9 premium and 3 regular. 24 of 24 requests answered." in texts(app)
        assert "Predicted with the Lab's policy and workers: " in texts(app)
        assert len(endpoint.posts) == 24
    frame = app.dataframe[0].value
    assert frame["of first 12"].tolist() == [9, 3]
    assert "failed" not in frame.columns
    assert {element.proto.label for element in app.get("download_button")} == {"Results as CSV", "Results as JSONL"}
    (chart,) = app.get("plotly_chart")
    assert "measured" in json.dumps(json.loads(chart.proto.spec))


def test_another_load_has_to_be_agreed_to_anew():
    app = probe_page()
    app = app.checkbox[0].check().run()
    assert not button(app, "Send").disabled
    app.session_state["probe:classes"] = "premium=321 regular=320"
    app = app.run()
    assert button(app, "Send").disabled
    assert "641 requests" in texts(app)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"probe__url": "localhost:8000"}, "http://host:port or https://host is allowed"),
        ({"probe__classes": "premium=many"}, "'many' is no number of requests"),
        ({"probe__classes": ""}, "No request is to be sent"),
        ({"probe__classes": "a=1500 b=1500"}, "3,000 given, 1 to 2,000 are allowed"),
        ({"probe__pace": real_state.PACED, "probe__per_second": 1.0}, "take longer than the 120 seconds allowed"),
    ],
)
def test_what_is_not_allowed_is_said_and_cannot_be_sent(state, text):
    app = probe_page(**state)
    assert not app.exception
    assert text in texts(app)
    assert "Send" not in [each.label for each in app.button]


def test_an_endpoint_that_is_not_there_is_said_and_the_prediction_stays():
    with FakeEndpoint() as endpoint:
        url = endpoint.url
    app = probe_page(probe__url=url)
    app = button(app.checkbox[0].check().run(), "Send").click().run()
    app = settled(app, lambda app: bool(app.error))
    assert "Nothing listens at 127.0.0.1:" in texts(app)
    assert "Prediction: of the first 320 completions 255 premium and 65 regular." in texts(app).replace("**", "")


def test_a_page_that_is_left_keeps_what_was_typed():
    app = probe_page(probe__model="llama", probe__classes="gold=5")
    app.session_state["real:tab"] = real_state.REPLAY
    app = app.run()
    app.session_state["real:tab"] = real_state.PROBE
    app = app.run()
    assert [each.value for each in app.text_input][:3] == ["http://127.0.0.1:8123", "llama", "gold=5"]


def test_the_key_goes_only_to_hosts_that_the_servers_owner_named(monkeypatch):
    monkeypatch.setenv(real_state.KEY_VARIABLE, "s3cr3t")
    app = probe_page()
    assert "does not go along" in texts(app)
    monkeypatch.setenv(real_state.HOSTS_VARIABLE, "127.0.0.1, llm.example")
    app = probe_page()
    assert "The key in RINGSIDE_PROBE_KEY goes along." in texts(app)
    assert "with the key in RINGSIDE_PROBE_KEY" in texts(app)
    assert "s3cr3t" not in texts(app) + repr(app.session_state)
    app = probe_page(probe__url="http://elsewhere.example:80")
    assert "this server may probe 127.0.0.1, llm.example only" in texts(app).lower()


def test_a_markdown_name_is_shown_as_it_is_written():
    app = probe_page(probe__model="a*b*[x](http://evil.example)")
    assert "a\\*b\\*" in "\n".join(str(each.value) for each in app.markdown)


# --- probes in their processes ---------------------------------------------------------------------------------------


def plan_for(endpoint: FakeEndpoint, **changes: object) -> ProbePlan:
    plan = ProbePlan(url=endpoint.url, model="m", classes=(("premium", 8),), prompt_tokens=4, max_seconds=20.0)
    return replace(plan, **changes)  # type: ignore[arg-type]


def test_the_server_runs_no_more_probes_at_once_than_allowed():
    board = ProbeBoard()
    with FakeEndpoint(lambda seen, reply: time.sleep(20)) as endpoint:
        job = board.start(plan_for(endpoint))
        with pytest.raises(ProbeError, match="RINGSIDE_MAX_PROBES sets it"):
            board.start(plan_for(endpoint))
        while len(endpoint.posts) < 8:
            time.sleep(0.02)
        job.stop()
        assert job.finished.wait(10)
    assert {row.outcome for row in job.rows} == {"unfinished"}
    assert len(job.rows) == 8
    assert job.error == ""
    with FakeEndpoint() as endpoint:
        again = board.start(plan_for(endpoint))
        assert again.finished.wait(20)
    assert [row.outcome for row in again.rows] == ["done"] * 8


def test_a_probe_whose_process_dies_says_so():
    with FakeEndpoint(lambda seen, reply: time.sleep(20)) as endpoint:
        job = ProbeJob(plan_for(endpoint))
        job.start()
        while not endpoint.posts:
            time.sleep(0.02)
        assert job.process is not None
        job.process.kill()
        assert job.finished.wait(10)
    assert "ended with code -9" in job.error


def test_a_task_reports_what_the_replay_gives(monkeypatch):
    from drr.ui.real_task import RealTask

    monkeypatch.setattr(side_by_side, "RouterProcess", FakeRouter)
    monkeypatch.setattr(side_by_side, "replay_real", lambda case, *, router: ReplayAnswer(None, aborted_because="x"))
    told: list[tuple[int, int]] = []
    found = RealTask(ABOVE, 1_000, 5.0).run(lambda over, total: told.append((over, total)))
    assert found.explained_by == ()
    assert told[-1] == (3, 3)


def test_a_server_that_others_reach_probes_no_host_that_was_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = {"server.address": "0.0.0.0"}
    monkeypatch.delenv(real_state.HOSTS_VARIABLE, raising=False)
    monkeypatch.setattr(real_state.st, "get_option", address.get)
    assert real_state.allowed_hosts() == frozenset()
    address["server.address"] = "127.0.0.1"
    assert real_state.allowed_hosts() is None
    monkeypatch.setenv(real_state.HOSTS_VARIABLE, "llm.example")
    assert real_state.allowed_hosts() == {"llm.example"}
