"""Targets that take messages: links and files people share, what components send, what endpoints answer."""

from __future__ import annotations

import base64
import http.client
import io
import json
import time
import zlib
from functools import cache
from typing import Any

import pytest
from hypothesis import strategies as st

from drr.dynamo.probe_http import CallFailedError, Exchange
from drr.dynamo.probe_plan import PlannedRequest, ProbePlan
from drr.errors import DrrError, WorkloadError
from drr.policy import load_policy, read_policy
from drr.policy.samples import sample
from drr.simulation.engine_options import EngineOptions
from drr.simulation.recording import Run
from drr.simulation.state import StepKind
from drr.ui.editor.exchange import Exchange as EditorExchange
from drr.ui.player.messages import View, csv, said
from drr.ui.quantum_edits import edited, new_edits
from drr.ui.scene.component import moment_of
from drr.workload.experiment import MAX_ENDPOINTS, Experiment, TraceWorkload, TypedWorkload
from drr.workload.link import decode, encode, from_file, to_file
from drr.workload.mapping import ClassMapping
from drr.workload.scenarios import SCENARIOS
from tests.fuzz.target import Target, messages, must_be_clear, texts
from tests.fuzz.texts import EnoughError
from tests.ui.player_runs import premium_run

LINK_CHARACTERS = 7_000
MOST_REQUESTS = 200
WIDEST = 64
"""Endpoints of a shared experiment that is run here."""

EXPERIMENTS = (
    *(each.experiment for each in SCENARIOS),
    Experiment(policy_text="", workload=TypedWorkload("A (60): 25 45 10\nB (40): 30\n")),
    Experiment(
        policy_text=sample("premium_4_to_1").text(),
        workload=TraceWorkload("t.jsonl", "ab" * 32, ClassMapping("first_block"), window_ms=(0.0, 5.0)),
        taints=((0, ("h100",)),),
        engine=EngineOptions(max_num_seqs=4, num_gpu_blocks=100),
    ),
)
SHARED = tuple(json.loads(to_file(each, 7)) for each in EXPERIMENTS)
WORDS = (
    *("engine", "timing_model", "workers", "dp_size", "changes", "taints", "arbiter", "capacity", "path", "spec"),
    *("drr", "carry", "wspt", "slots", "remove", "overload", "mapping", "kind", "random", "columns", "lenient"),
)


def _opened(data: bytes) -> Experiment | None:
    try:
        shared = from_file(data)
    except WorkloadError as error:
        must_be_clear(error)
        return None
    again = from_file(to_file(shared.experiment, shared.step, trace_text=shared.trace_text).encode())
    assert again == shared
    return shared.experiment


def shared_file(data: Any) -> None:
    _opened(data if isinstance(data, bytes) else json.dumps(data).encode())


def shared_run(data: Any) -> None:
    """What can be opened can be run, or says why not; only small ones are."""
    experiment = _opened(json.dumps(data).encode())
    if experiment is None:
        return
    assert len(experiment.key) == 64
    if experiment.workers * experiment.dp_size > MAX_ENDPOINTS:
        with pytest.raises(DrrError):
            experiment.run()
        return
    if experiment.workers * experiment.dp_size > WIDEST:
        return

    def progress(over: int, total: int) -> None:
        if over > MOST_REQUESTS or time.process_time() > end:
            raise EnoughError

    end = time.process_time() + 2
    try:
        run = experiment.run(progress, max_requests=MOST_REQUESTS)
    except (DrrError, EnoughError):
        return
    assert run.n_steps >= 0
    run.state_at(run.n_steps - 1)


def link(data: Any) -> None:
    """A link made of any data, whole or with its text damaged."""
    content, damage = data
    text = json.dumps(content).encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = zlib.crc32(text).to_bytes(4, "big") + deflate.compress(text) + deflate.flush()
    code = "1." + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()
    for at, piece in damage:
        code = code[: at % (len(code) + 1)] + piece + code[at % (len(code) + 1) :]
    try:
        shared = decode(code, max_characters=LINK_CHARACTERS)
    except WorkloadError as error:
        must_be_clear(error)
        return
    assert decode(encode(shared.experiment, shared.step), max_characters=100_000) == shared


@cache
def _run() -> Run:
    return premium_run(per_class=20)


VIEW = {
    "run": "me",
    "step": 30,
    "visit": 0,
    "log": [1, 2, 3],
    "heeded": 1,
    "pressed": {"number": 3, "endpoint": 0},
    "timeline": {"panel": "backlog", "unit": "requests", "width": 900},
    "csv": {"number": 2, "kinds": [StepKind.DECISION.value], "class_index": 0, "endpoint": -1},
}
VIEWS = (VIEW, {**VIEW, "csv": None, "timeline": None, "visit": -1}, {"run": "me"})


def player_view(data: Any) -> None:
    run = _run()
    view = View.of(data, run, "me")
    if view is None:
        return
    assert -1 <= view.step < run.n_steps
    answer = said(run, "me", view)
    assert answer["headline"] or answer["text"]
    json.dumps(answer).encode()
    if view.csv is not None:
        assert csv(run, view.csv)
    if view.pressed is not None:
        assert run.endpoint_names[view.pressed[1]]


EDITS = ({"text": "a: 1\n", "seq": 1, "rev": 0, "run": 0}, {"text": "", "seq": 9, "rev": 1, "run": 9})


def editor(data: Any) -> None:
    exchange = EditorExchange("start", shown="start")
    for edit in data if isinstance(data, list) else [data]:
        exchange.take(edit)
        exchange.put(exchange.text + "!")
        assert isinstance(exchange.take_run(), bool)
        assert isinstance(exchange.text, str)
        exchange.text.encode()
        read_policy(exchange.text)
        assert exchange.seq < 2**53


QUANTA = (
    [{"seq": 1, "what": "scale", "up": 5, "down": 4}],
    [{"seq": 2, "what": "set", "name": "premium", "key": "quantum", "text": "1 024", "keep": True}],
    [
        {"seq": 3, "what": "set", "name": "regular", "key": "prefill_busy_threshold_frac", "text": "0.5"},
        {"seq": 4, "what": "set", "name": "regular", "key": "busy_worker_ratio", "text": ""},
    ],
)


def quanta(data: Any) -> None:
    text = sample("premium_4_to_1").text()
    done = 0
    for edit in new_edits(data, done):
        assert edit["seq"] > done
        done = edit["seq"]
        try:
            text = edited(text, edit, load_policy(text).profile_for())
        except DrrError as error:
            must_be_clear(error)
        assert read_policy(text).ok


def scene(data: Any) -> None:
    assert moment_of(data, ("quiet", "spike")) in ("", "quiet", "spike")


# What an endpoint answers

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENTS = (
    'data: {"choices": [{"text": "a", "finish_reason": null}]}\n\n: note\n\n'
    'data: {"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
)
ANSWERS = (
    f"{HEAD}{len(EVENTS):x}\r\n{EVENTS}\r\n0\r\n\r\n",
    f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(EVENTS)}\r\n\r\n{EVENTS}",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 48\r\n\r\n"
    '{"choices": [{"message": {"content": "a b c"}}]}',
    'HTTP/1.1 529 Overloaded\r\nContent-Length: 40\r\n\r\n{"error": {"message": "the class is full"}}',
    "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n",
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: error\ndata: {"message": {"error": "x"}}\n\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {"error": {}}\n\n',
)
ANSWER_WORDS = (
    "data: ",
    "event: error",
    "[DONE]",
    "\r\n\r\n",
    "choices",
    "Content-Length: ",
    "chunked",
    "200",
    "ffffffff",
)
PLAN = ProbePlan(url="http://127.0.0.1:9/v1", model="m", classes=(("premium", 1),), prompt_tokens=8)


class _Socket:
    """The other side of a connection that has said everything at once and then hung up."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *args: object) -> io.BytesIO:
        return io.BytesIO(self._data)

    def sendall(self, data: bytes) -> None:
        assert data

    def close(self) -> None:
        return


def endpoint_answer(data: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1")
    connection.sock = _Socket(data)  # type: ignore[assignment]
    exchange = Exchange(PLAN, PlannedRequest(0, "premium", 0.0), "the-secret-key", connection=connection)
    try:
        exchange.send()
        exchange.read(time.perf_counter() + 5)
    except CallFailedError as error:
        must_be_clear(error, without="the-secret-key")
        return
    finally:
        exchange.close()
    assert exchange.done_s is not None


TARGETS = (
    Target("shared_file", texts([json.dumps(each) for each in SHARED], WORDS) | messages(SHARED, WORDS), shared_file),
    Target("shared_run", messages(SHARED, WORDS), shared_run, cpu_seconds=20.0),
    Target(
        "link",
        st.tuples(
            messages([{k: v for k, v in each.items() if k != "ringside"} for each in SHARED], WORDS),
            st.lists(st.tuples(st.integers(0, 10**6), st.text("AZaz09-_.=%+ é", max_size=4)), max_size=1),
        ).map(list),
        link,
    ),
    Target("player_view", messages(VIEWS, ("backlog", "requests", "tokens", 1, 900)), player_view),
    Target("editor", st.lists(messages(EDITS), max_size=3) | messages(EDITS), editor),
    Target("quanta", messages(QUANTA, ("premium", "regular", "quantum", "1,024", "0.5", "scale")), quanta),
    Target("scene", messages(("quiet", {"moment": "quiet"}, None)), scene),
    Target("endpoint_answer", texts(ANSWERS, ANSWER_WORDS), endpoint_answer),
)
