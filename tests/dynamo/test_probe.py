"""The probe against a small endpoint on loopback: load, order, limits, and everything that may go wrong."""

from __future__ import annotations

import csv
import io
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter

import pytest

from drr.dynamo.probe import STOPPED, TIME_IS_UP, ProbeRow, run_probe
from drr.dynamo.probe_plan import ProbeError, ProbePlan, read_class, read_classes, read_target
from drr.dynamo.probe_results import (
    Expectation,
    class_results,
    in_completion_order,
    predict,
    predicted_order,
    predicted_ttft,
    prefix_counts,
    reasons,
    result_line,
    results_csv,
    results_jsonl,
)
from drr.policy import load_policy
from drr.policy.samples import sample
from drr.simulation.engine_options import EngineOptions
from tests.dynamo.fake_endpoint import FakeEndpoint, Reply, ScriptedWorker, Seen
from tests.support import skip_or_fail

BOTH = (("premium", 6), ("regular", 4))


def plan_for(url: str, **changes: object) -> ProbePlan:
    values: dict[str, object] = {"url": url, "model": "m", "classes": BOTH, "prompt_tokens": 8, "max_seconds": 20.0}
    return ProbePlan(**(values | changes))  # type: ignore[arg-type]


def outcomes(rows: list[ProbeRow]) -> Counter[str]:
    return Counter(row.outcome for row in rows)


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_every_request_carries_its_class_and_a_prompt_of_its_own():
    with FakeEndpoint() as endpoint:
        rows = run_probe(plan_for(endpoint.url))
    assert outcomes(rows) == {"done": 10}
    assert Counter(seen.policy_class for seen in endpoint.posts) == dict(BOTH)
    assert {seen.path for seen in endpoint.posts} == {"/v1/completions"}
    prompts = [tuple(seen.body["prompt"]) for seen in endpoint.posts]
    assert len({prompt[:3] for prompt in prompts}) == 10
    assert {len(prompt) for prompt in prompts} == {8}
    assert all(256 <= token < 8_000 for prompt in prompts for token in prompt)
    assert all(seen.body["stream"] is True and seen.body["max_tokens"] == 1 for seen in endpoint.posts)
    assert all(seen.authorization is None for seen in endpoint.seen)


def test_at_once_requests_go_out_in_the_planned_order_with_classes_alternating():
    plan = plan_for("http://127.0.0.1:1", classes=(("premium", 4), ("regular", 4)))
    initials = "".join(request.policy_class[0] for request in plan.requests())
    assert initials == "prrpprrp"
    assert {request.due_s for request in plan.requests()} == {0.0}
    mixed = plan_for("http://127.0.0.1:1", classes=(("premium", 6), ("regular", 2))).requests()
    assert Counter(request.policy_class for request in mixed[:4]) == {"premium": 3, "regular": 1}


def test_without_a_class_no_header_is_sent():
    with FakeEndpoint() as endpoint:
        rows = run_probe(plan_for(endpoint.url, classes=(("", 3),)))
    assert [seen.policy_class for seen in endpoint.posts] == [None] * 3
    assert [row.policy_class for row in rows] == [""] * 3


@pytest.mark.parametrize(("prompt", "path"), [("text", "/v1/completions"), ("chat", "/v1/chat/completions")])
def test_prompts_can_be_words_for_endpoints_that_take_no_ids(prompt, path):
    def answers_as_chat(seen: Seen, reply: Reply) -> None:
        reply.start_stream()
        reply.event({"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
        time.sleep(0.05)
        reply.event({"choices": [{"delta": {"content": "hello"}, "finish_reason": None}]})
        reply.event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        reply.event({"choices": [], "usage": {"prompt_tokens": 8}})
        reply.event("[DONE]")
        reply.end()

    with FakeEndpoint(answers_as_chat) as endpoint:
        rows = run_probe(plan_for(endpoint.url, prompt=prompt, classes=(("premium", 2),)))
    assert {seen.path for seen in endpoint.posts} == {path}
    texts = [
        seen.body["messages"][0]["content"] if prompt == "chat" else seen.body["prompt"] for seen in endpoint.posts
    ]
    assert {len(text.split()) for text in texts} == {8}
    assert len(set(texts)) == 2
    assert outcomes(rows) == {"done": 2}
    assert all(row.tokens == 1 for row in rows)
    assert all((row.ttft_ms or 0) >= 45 for row in rows)  # the piece with the role alone is no token


def test_a_paced_probe_keeps_its_pace():
    with FakeEndpoint() as endpoint:
        started = time.perf_counter()
        rows = run_probe(plan_for(endpoint.url, per_second=50.0))
        took = time.perf_counter() - started
    assert outcomes(rows) == {"done": 10}
    sent = [row.sent_ms or 0.0 for row in rows]
    assert sent == sorted(sent)
    assert all(time_ms >= 20.0 * number - 1 for number, time_ms in enumerate(sent))
    assert took >= 0.18


def test_the_key_comes_from_the_environment_and_is_found_nowhere_else(monkeypatch):
    secret = "s3cr3t-k3y"
    monkeypatch.setenv("PROBE_TEST_KEY", secret)

    def quotes_the_key(seen: Seen, reply: Reply) -> None:
        if seen.number % 2:
            reply.whole(400, {"error": {"message": f"the key {secret} may not do this"}})
        else:
            reply.start_stream()
            reply.piece(f'event: error\ndata: {{"message": "{secret}"}}\n\n'.encode())
            reply.end()

    with FakeEndpoint(quotes_the_key, key=secret) as endpoint:
        plan = plan_for(endpoint.url, key_variable="PROBE_TEST_KEY")
        rows = run_probe(plan)
    assert {seen.authorization for seen in endpoint.seen} == {f"Bearer {secret}"}
    files = results_jsonl(plan, rows) + results_csv(rows) + plan.consent_line() + repr(plan) + repr(rows)
    assert "***" in files
    assert secret not in files
    assert "PROBE_TEST_KEY" in plan.consent_line()


# --- what is measured ------------------------------------------------------------------------------------------------


def test_the_order_of_completion_is_the_endpoints():
    classes = (("premium", 16), ("regular", 16))
    worker = ScriptedWorker(32, "pppr", {"p": "premium", "r": "regular"})
    with FakeEndpoint(worker) as endpoint:
        plan = plan_for(endpoint.url, classes=classes)
        rows = run_probe(plan)
    order = [row.policy_class for row in in_completion_order(rows)]
    assert order[:16] == ["premium", "premium", "premium", "regular"] * 4
    results = class_results(plan, rows, 16)
    assert [result.in_first for result in results] == [12, 4]
    assert [result.left_when_first_ended for result in results] == [0, 11]
    assert result_line(plan, results, 16) == (
        "Of the first 16 completions: 12 premium and 4 regular. 32 of 32 requests answered."
    )
    for row in rows:
        assert row.sent_ms is not None
        assert row.done_ms is not None
        assert row.first_token_ms is not None
        assert 0 <= row.sent_ms <= row.first_token_ms <= row.done_ms


def test_first_and_last_token_are_told_apart():
    with FakeEndpoint(lambda seen, reply: reply.answer(tokens=4, pause_s=0.03)) as endpoint:
        rows = run_probe(plan_for(endpoint.url, classes=(("premium", 2),), output_tokens=4))
    for row in rows:
        assert row.tokens == 4
        assert row.first_token_ms is not None
        assert (row.done_ms or 0) - row.first_token_ms >= 80


def test_results_are_told_as_they_come_and_a_listener_may_end_the_probe():
    told: list[int] = []

    def stop_at_three(row: ProbeRow) -> None:
        told.append(row.row)
        if len(told) == 3:
            raise KeyboardInterrupt

    with FakeEndpoint() as endpoint, pytest.raises(KeyboardInterrupt):
        run_probe(plan_for(endpoint.url), on_row=stop_at_three)
    assert len(told) == 3


# --- refusals and failures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [529, 503, 429])
def test_a_full_class_is_a_refusal_and_no_failure(status):
    def refuses_regular(seen: Seen, reply: Reply) -> None:
        if seen.policy_class == "regular":
            reply.whole(status, {"message": "policy class regular is full", "type": "Overloaded", "code": status})
        else:
            reply.answer()

    with FakeEndpoint(refuses_regular) as endpoint:
        plan = plan_for(endpoint.url)
        rows = run_probe(plan)
    assert outcomes(rows) == {"done": 6, "refused": 4}
    assert reasons(rows) == [(f"HTTP {status}: policy class regular is full", 4)]
    assert {row.status for row in rows} == {200, status}
    assert result_line(plan, class_results(plan, rows, 5), 5).endswith("6 of 10 requests answered; 4 refused.")


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        (lambda seen, reply: reply.whole(500, b"<h1>Oops</h1>", "text/html"), "HTTP 500: <h1>Oops</h1>"),
        (lambda seen, reply: reply.whole(400, {"detail": "no such class"}), "HTTP 400: no such class"),
        (lambda seen, reply: reply.whole(302, b"", Location="http://elsewhere.invalid/"), "HTTP 302"),
        (lambda seen, reply: reply.hang_up(), "closed the connection without an answer"),
        (lambda seen, reply: reply.whole(200, b"{}", "application/json"), "the answer has no choices"),
        (lambda seen, reply: reply.whole(200, b"\xff\xfe", "text/plain"), "the answer is no JSON"),
    ],
)
def test_what_is_no_answer_is_said(behaviour, text):
    with FakeEndpoint(behaviour) as endpoint:
        rows = run_probe(plan_for(endpoint.url, classes=(("premium", 2),)))
    assert outcomes(rows) == {"failed": 2}
    assert all(text in row.text for row in rows)
    assert all(row.done_ms is None for row in rows)


def test_a_stream_that_breaks_off_is_no_completion():
    def cut(seen: Seen, reply: Reply) -> None:
        reply.start_stream()
        reply.event({"choices": [{"text": "w1", "finish_reason": None}]})
        match seen.number % 4:
            case 0:
                reply.hang_up()
            case 1:
                reply.end()
            case 2:
                reply.event({"error": {"message": "the worker is gone"}})
                reply.end()
            case 3:
                reply.event("{not json")
                reply.end()

    with FakeEndpoint(cut) as endpoint:
        rows = run_probe(plan_for(endpoint.url, classes=(("premium", 8),)))
    assert outcomes(rows) == {"failed": 8}
    assert dict(reasons(rows)) == {
        "the answer was cut off in the middle": 2,
        "the answer was cut off before its end": 2,
        "the endpoint broke off: the worker is gone": 2,
        "the answer is no JSON: {not json": 2,
    }
    assert all(row.first_token_ms is not None and row.done_ms is None for row in rows)


def test_bytes_cut_anywhere_make_the_same_events():
    def drips(seen: Seen, reply: Reply) -> None:
        reply.start_stream()
        text = json.dumps({"choices": [{"text": "größer", "finish_reason": None}]}, ensure_ascii=False)
        for byte in f": hello\r\n\r\nid: 1\r\ndata: {text}\r\n\r\ndata:[DONE]\r\n\r\n".encode():
            reply.piece(bytes([byte]))
        reply.end()

    with FakeEndpoint(drips) as endpoint:
        (row,) = run_probe(plan_for(endpoint.url, classes=(("premium", 1),)))
    assert (row.outcome, row.tokens, row.text) == ("done", 1, "")


def test_an_answer_in_one_piece_counts_without_a_first_token():
    def whole(seen: Seen, reply: Reply) -> None:
        reply.whole(200, {"choices": [{"text": "w1", "finish_reason": "length"}]})

    with FakeEndpoint(whole) as endpoint:
        (row,) = run_probe(plan_for(endpoint.url, classes=(("premium", 1),)))
    assert row.outcome == "done"
    assert row.ttft_ms is None
    assert "not streamed" in row.text


def test_an_answer_that_never_stops_growing_a_line_is_given_up():
    def endless(seen: Seen, reply: Reply) -> None:
        reply.start_stream()
        try:
            while True:
                reply.piece(b"x" * 65_536)
        except OSError:
            return

    with FakeEndpoint(endless) as endpoint:
        (row,) = run_probe(plan_for(endpoint.url, classes=(("premium", 1),)))
    assert (row.outcome, row.text) == ("failed", "a line of the answer has no end")


def test_an_endpoint_that_stands_still_is_given_up_after_the_longest_silence():
    def stands_still(seen: Seen, reply: Reply) -> None:
        reply.start_stream()
        time.sleep(2)

    with FakeEndpoint(stands_still) as endpoint:
        started = time.perf_counter()
        rows = run_probe(plan_for(endpoint.url, classes=(("premium", 2),), idle_seconds=0.2))
    assert time.perf_counter() - started < 1.5
    assert outcomes(rows) == {"failed": 2}
    assert all(row.text.endswith("sent nothing for 0.2 s") for row in rows)


def test_time_is_up_in_time_and_what_was_there_by_then_is_kept():
    def every_other(seen: Seen, reply: Reply) -> None:
        if seen.policy_class == "regular":
            time.sleep(5)
        reply.answer()

    with FakeEndpoint(every_other) as endpoint:
        started = time.perf_counter()
        rows = run_probe(plan_for(endpoint.url, max_seconds=1.0))
        took = time.perf_counter() - started
    assert 0.9 < took < 2.0
    assert outcomes(rows) == {"done": 6, "unfinished": 4}
    assert {row.text for row in rows if row.outcome == "unfinished"} == {TIME_IS_UP}


def test_a_probe_can_be_stopped_and_sends_nothing_more():
    stop = threading.Event()
    with FakeEndpoint() as endpoint:
        plan = plan_for(endpoint.url, classes=(("premium", 100),), per_second=20.0)
        rows = run_probe(plan, stop=stop, on_row=lambda row: stop.set() if row.row == 2 else None)
        sent = len(endpoint.posts)
        time.sleep(0.2)
        assert len(endpoint.posts) == sent < 10
    assert len(rows) == 100
    assert rows[2].outcome == "done"
    assert rows[99].text == STOPPED
    assert rows[99].sent_ms is None


# --- before anything is sent -----------------------------------------------------------------------------------------


def refusing_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_where_nothing_listens_the_probe_says_so_at_once():
    port = refusing_port()
    with pytest.raises(ProbeError, match=rf"nothing listens at 127\.0\.0\.1:{port} \(connection refused\)"):
        run_probe(plan_for(f"http://127.0.0.1:{port}"))


def test_an_unknown_host_is_named():
    with pytest.raises(ProbeError, match=r"the host name no-such-host\.invalid is not known"):
        run_probe(plan_for("http://no-such-host.invalid:8000"))


def test_tls_towards_an_endpoint_without_it_is_explained():
    with FakeEndpoint() as endpoint:
        with pytest.raises(ProbeError, match=r"TLS: .* does not speak it as expected .*is it an http address\?"):
            run_probe(plan_for(endpoint.url.replace("http:", "https:")))
        assert endpoint.posts == []


def test_a_certificate_nobody_vouches_for_is_refused(tmp_path):
    if shutil.which("openssl") is None:
        skip_or_fail("no openssl to make a certificate with", must_be_here=False)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, pytest.raises(ssl.SSLError):
                context.wrap_socket(connection, server_side=True)

        server = threading.Thread(target=serve)
        server.start()
        with pytest.raises(ProbeError, match=r"TLS: the certificate of 127\.0\.0\.1:\d+ is not trusted \(self-signed"):
            run_probe(plan_for(f"https://127.0.0.1:{listener.getsockname()[1]}"))
        server.join(5)


@pytest.mark.parametrize(("variable", "words"), [(None, "wants a key"), ("PROBE_TEST_KEY", "does not take the key")])
def test_a_refused_key_ends_the_probe_before_any_load(monkeypatch, variable, words):
    monkeypatch.setenv("PROBE_TEST_KEY", "wrong-key")
    with FakeEndpoint(key="right-key") as endpoint:
        with pytest.raises(ProbeError, match=rf"HTTP 401.*{words}") as raised:
            run_probe(plan_for(endpoint.url, key_variable=variable))
        assert "wrong-key" not in str(raised.value)
        assert endpoint.posts == []


def test_a_model_that_is_not_served_is_named_with_those_that_are():
    with FakeEndpoint(models=["llama", "qwen"]) as endpoint:
        with pytest.raises(ProbeError, match="serves no model 'm'; it lists: llama and qwen"):
            run_probe(plan_for(endpoint.url))
        assert endpoint.posts == []


def test_an_endpoint_that_lists_no_models_is_probed_with_a_remark():
    remarks: list[str] = []
    with FakeEndpoint(models=lambda seen, reply: reply.whole(404, b"no", "text/plain")) as endpoint:
        rows = run_probe(plan_for(endpoint.url), on_remark=remarks.append)
    assert outcomes(rows) == {"done": 10}
    assert "lists no models (HTTP 404)" in remarks[0]


def test_an_endpoint_that_moved_is_not_followed():
    def moved(seen: Seen, reply: Reply) -> None:
        reply.whole(307, b"", Location="http://elsewhere.invalid/v1/models")

    with FakeEndpoint(models=moved) as endpoint, pytest.raises(ProbeError, match="sends us elsewhere"):
        run_probe(plan_for(endpoint.url))


def test_what_does_not_speak_http_is_no_endpoint():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 mail.invalid ESMTP ready\r\n")

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(ProbeError, match="does not answer in HTTP"):
            run_probe(plan_for(f"http://127.0.0.1:{listener.getsockname()[1]}"))


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"url": "ftp://host"}, "http://host:port or https://host is allowed"),
        ({"url": "127.0.0.1:8000"}, "is not valid"),
        ({"url": "http://me:pass@host"}, "a key comes from an environment variable only"),
        ({"url": "http://host:99999"}, "the address is not valid"),
        ({"url": "http://host/v1?key=abc"}, "holds a query"),
        ({"url": "http://host/v1/completions"}, "its base is wanted"),
        ({"url": "http://host/a b"}, "holds blanks"),
        ({"model": " "}, "the model has no name"),
        ({"classes": ()}, "no request is to be sent"),
        ({"classes": (("a", 1), ("a", 2))}, "named twice"),
        ({"classes": (("a b", 1),)}, "'a b' is no name of a class"),
        ({"classes": (("a\r\nx: y", 1),)}, "is no name of a class"),
        ({"classes": (("a", 0),)}, "requests of a: 0 given, 1 to 2,000 are allowed"),
        ({"classes": (("a", 1_500), ("b", 1_500))}, "requests: 3,000 given, 1 to 2,000 are allowed"),
        ({"per_second": 501.0}, "requests per second: 501.0 given"),
        ({"per_second": float("nan")}, "requests per second"),
        ({"per_second": 0.1, "max_seconds": 60.0}, "take longer than the 60 seconds allowed"),
        ({"max_seconds": 901.0}, "seconds: 901.0 given, 1 to 900"),
        ({"prompt_tokens": 0}, "prompt tokens: 0 given"),
        ({"prompt_tokens": 100_000, "classes": (("a", 2_000),)}, "tokens of all prompts: 200,000,000 given"),
        ({"header": "x: y\r\n"}, "is no name of a header"),
        ({"prompt": "song"}, "prompts are 'song'; allowed are ids, text and chat"),
        ({"url": "http://far.example/v1", "key_variable": "KEY"}, "a key is sent over https"),
    ],
)
def test_a_plan_beyond_its_limits_is_refused(changes, text):
    with pytest.raises(ProbeError) as raised:
        plan_for(**{"url": "http://127.0.0.1:1", **changes})
    assert text in str(raised.value)


def test_a_key_in_the_place_of_its_variables_name_is_not_repeated():
    with pytest.raises(ProbeError) as raised:
        plan_for("http://127.0.0.1:1", key_variable="sk-abc.def")
    assert "sk-abc" not in str(raised.value)


def test_an_unset_variable_is_named(monkeypatch):
    monkeypatch.delenv("PROBE_TEST_KEY", raising=False)
    with pytest.raises(ProbeError, match="the environment variable PROBE_TEST_KEY is not set"):
        run_probe(plan_for("http://127.0.0.1:1", key_variable="PROBE_TEST_KEY"))


@pytest.mark.parametrize(
    ("url", "name", "base"),
    [
        ("http://127.0.0.1:8123", "127.0.0.1:8123", "/v1"),
        ("http://127.0.0.1:8123/v1/", "127.0.0.1:8123", "/v1"),
        ("https://api.example/openai/v1", "api.example:443", "/openai/v1"),
        ("http://[::1]:8000", "[::1]:8000", "/v1"),
    ],
)
def test_addresses_are_read_as_people_write_them(url, name, base):
    target = read_target(url)
    assert (target.name, target.base_path) == (name, base)


def test_the_line_to_agree_to_names_target_load_and_time():
    line = plan_for(
        "http://10.0.0.7:9/v1", per_second=5.0, classes=(("premium", 320), ("regular", 320)), max_seconds=200
    )
    assert line.consent_line() == (
        "Send 640 requests (320 premium and 320 regular) of 8 tokens to 10.0.0.7:9 (http, model m), 5 per second, "
        "for at most 200 seconds."
    )


def test_a_plan_survives_its_mapping():
    plan = plan_for("http://127.0.0.1:1", per_second=3.5, key_variable="KEY")
    assert ProbePlan.from_mapping(json.loads(json.dumps(plan.to_mapping()))) == plan


def test_classes_are_read_with_and_without_counts():
    assert read_classes("premium=320, regular=5\nbatch") == (("premium", 320), ("regular", 5), ("batch", 1))
    assert read_class("premium", 7) == ("premium", 7)
    for wrong in ("=3", "premium=", "premium=x", "premium=-1"):
        with pytest.raises(ProbeError):
            read_class(wrong, 1)


# --- results ---------------------------------------------------------------------------------------------------------


def test_files_hold_every_row_and_no_formula():
    plan = plan_for("http://127.0.0.1:1", classes=(("premium", 2),))
    rows = [
        ProbeRow(0, "premium", "done", 0.0, 5.0, 9.0, 200, 1),
        ProbeRow(1, "premium", "failed", 1.0, status=500, text="=HYPERLINK(1)"),
    ]
    first, second = csv.DictReader(io.StringIO(results_csv(rows)))
    assert (first["ttft_ms"], first["completion"], first["done_ms"]) == ("5.0", "1", "9.0")
    assert (second["text"], second["completion"], second["ttft_ms"]) == ("'=HYPERLINK(1)", "", "")
    head, *lines = (json.loads(line) for line in results_jsonl(plan, rows).splitlines())
    assert ProbePlan.from_mapping(head["probe"]) == plan
    assert [line["text"] for line in lines] == ["", "=HYPERLINK(1)"]


def test_an_expectation_holds_within_its_ends():
    plan = plan_for("http://127.0.0.1:1", classes=(("premium", 3), ("regular", 1)))
    rows = [ProbeRow(i, "premium", "done", 0.0, 1.0, 1.0 + i) for i in range(3)]
    results = class_results(plan, rows, 2)
    assert Expectation.read("premium=2..3").check(results)[0]
    assert Expectation.read("premium=2").check(results)[0]
    holds, text = Expectation.read("regular=1..2").check(results)
    assert (holds, text) == (False, "regular 0 of the first completions, 1..2 expected: does not hold")
    for wrong in ("premium", "premium=1..", "=1", "premium=1...2", "premium=3..2"):
        with pytest.raises(ProbeError):
            Expectation.read(wrong)
    with pytest.raises(ProbeError, match="no such class"):
        Expectation.read("batch=1").check(results)


def test_our_prediction_for_the_seed_load_is_the_known_one():
    plan = plan_for("http://127.0.0.1:1", classes=(("premium", 320), ("regular", 320)), prompt_tokens=512)
    engine = EngineOptions(max_num_seqs=4, enable_prefix_caching=False)
    run = predict(plan, load_policy(sample("premium_4_to_1").text()).profile_for(), engine=engine)
    order = predicted_order(plan, run)
    assert prefix_counts(plan, order, 320) == [255, 65]
    premium, regular = predicted_ttft(plan, run)
    assert premium.count == regular.count == 320
    assert (premium.p50 or 0) < (regular.p50 or 0)


@pytest.mark.parametrize("host", ["127.0.0.1.elsewhere.example", "127.example", "localhost.example", "10.0.0.1"])
def test_a_name_that_looks_like_this_machine_gets_no_key_over_http(host: str) -> None:
    with pytest.raises(ProbeError, match="over https"):
        plan_for(f"http://{host}:8000", key_variable="SOME_KEY")
    assert plan_for("http://127.9.9.9:8000", key_variable="SOME_KEY").target.is_loopback
