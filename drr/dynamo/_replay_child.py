"""The process that loads the real router: reads one JSON question per line, writes one JSON answer per line.

Started by :class:`drr.dynamo.process.RouterProcess`, never imported elsewhere. Files live in a temporary directory
that is also the working directory, so the router's messages name plain ``policy.yaml`` and ``trace.jsonl``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUTER_OPTIONS = ("router_queue_threshold", "router_queue_policy")


def _write_policy(question: dict[str, Any]) -> None:
    Path("policy.yaml").write_bytes(question["policy"].encode("utf-8", "surrogateescape"))


def _answer_policy(core: Any, question: dict[str, Any]) -> dict[str, Any]:
    """The loader's verdict: constructing the configuration reads and validates the whole file."""
    _write_policy(question)
    try:
        core.KvRouterConfig(router_policy_config="policy.yaml")
    except BaseException as refusal:  # a Rust panic is no Exception
        return {"rejected_because": _message(refusal)}
    return {"rejected_because": None}


def _answer_replay(core: Any, question: dict[str, Any]) -> dict[str, Any]:
    options = dict(question["options"])
    router: dict[str, Any] = {name: options.pop(name) for name in ROUTER_OPTIONS if name in options}
    trace = question.get("trace_path")
    if trace is None:
        trace = "trace.jsonl"
        Path(trace).write_text(question["trace"], encoding="utf-8")
    if question["policy"]:
        _write_policy(question)
        router["router_policy_config"] = "policy.yaml"
    started = time.perf_counter()
    try:
        result = core.run_mocker_trace_replay(
            [trace],
            router_mode="kv_router",
            num_workers=question["workers"],
            router_config=core.KvRouterConfig(**router),
            trace_block_size=question["trace_block_size"],
            extra_engine_args={"engine": question["engine"]},
            capture_per_request=True,
            **options,
        )
        requests = result.per_request
    except BaseException as abort:
        return {"aborted_because": _message(abort)}
    elapsed_ms = (time.perf_counter() - started) * 1000.0
    answer: dict[str, Any] = {"wall_time_ms": result.summary["wall_time_ms"], "elapsed_ms": elapsed_ms}
    if question["report"] == "timing":
        return answer | {"requests": len(requests)}
    return answer | {"per_request": requests if question["report"] == "everything" else [_brief(r) for r in requests]}


def _brief(request: dict[str, Any]) -> dict[str, Any]:
    """The part of a per-request report that comparisons need."""
    kept = ("session_id", "turn_index", "input_length", "first_admit_ms", "first_token_ms", "last_token_ms")
    last = request["routing_history"][-1:]
    route = [{key: r[key] for key in ("outcome", "released_at_ms", "logical_worker_id")} for r in last]
    return {key: request[key] for key in kept} | {"routing_history": route}


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__


def main() -> None:
    """Serve questions from standard input until it ends."""
    # Native code may print: answers keep the real standard output for themselves, everything else goes to stderr.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def send(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        from dynamo import _core as core
    except Exception as error:
        send({"unavailable_because": _message(error)})
        return
    send({"ready": True})
    kinds: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
        "policy": _answer_policy,
        "replay": _answer_replay,
    }
    with tempfile.TemporaryDirectory(prefix="real-router-") as folder:
        os.chdir(folder)
        for line in sys.stdin:
            question = json.loads(line)
            # Native code listens to nobody. Where the parent is gone it is the alarm clock that ends a hang.
            signal.setitimer(signal.ITIMER_REAL, question["time_limit_s"])
            send(kinds[question["kind"]](core, question))
            signal.setitimer(signal.ITIMER_REAL, 0)
        os.chdir("/")


if __name__ == "__main__":
    main()
