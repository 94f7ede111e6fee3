"""The real router's offline replay: cases in, observed rows out, in the form of the recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from drr.dynamo.case import ObservedRow, ReplayAnswer, ReplayCase, in_line_order, with_row_identity
from drr.dynamo.process import RouterFailureError, RouterProcess


def replay_real(
    case: ReplayCase, *, router: RouterProcess | None = None, time_limit_s: float = 60.0, details: bool = False
) -> ReplayAnswer:
    """Run one case on the real router; ``observed`` has exactly the case's rows, in line order.

    A case whose rows could not be told apart is run with :func:`~drr.dynamo.case.with_row_identity`; its extra rows are
    not reported. ``details`` also hands out everything the router tells about each row. Crash and hang are reported in
    the result; :class:`~drr.dynamo.process.RouterUnavailableError` is raised without a router.
    """
    if router is None:
        with RouterProcess(time_limit_s=time_limit_s) as own:
            return replay_real(case, router=own, details=details)
    given = with_row_identity(case)
    try:
        answer = router.ask(_question(given, "everything" if details else "brief"))
    except RouterFailureError as failure:
        return ReplayAnswer(None, failed_because=str(failure))
    if "aborted_because" in answer:
        return ReplayAnswer(None, aborted_because=answer["aborted_because"])
    ordered = in_line_order(given.rows, answer["per_request"])[: len(case.rows)]
    return ReplayAnswer(
        observed=tuple(_observed_row(request) for request in ordered),
        wall_time_ms=answer["wall_time_ms"],
        elapsed_ms=answer["elapsed_ms"],
        details=tuple(ordered) if details else None,
    )


def replay_many(
    cases: Iterable[ReplayCase], *, time_limit_s: float = 60.0
) -> Iterator[tuple[ReplayCase, ReplayAnswer]]:
    """Run cases one after the other in one process; one that crashes or hangs loses only itself."""
    with RouterProcess(time_limit_s=time_limit_s) as router:
        for case in cases:
            yield case, replay_real(case, router=router)


def time_trace_file(
    path: str | PathLike[str],
    case: ReplayCase,
    *,
    router: RouterProcess | None = None,
    time_limit_s: float = 600.0,
) -> tuple[float, float, int]:
    """Replay the trace file ``path`` under ``case`` (whose own rows are not looked at), for benchmarks.

    Returns the router's own ``wall_time_ms`` (simulation alone), the ms around the whole call (reading the file,
    simulating, handing out the result of every request) and the number of requests.
    Raises :class:`~drr.dynamo.process.RouterFailureError` also where the replay aborts.
    """
    if router is None:
        with RouterProcess(time_limit_s=time_limit_s) as own:
            return time_trace_file(path, case, router=own)
    question = _question(case, "timing") | {"trace_path": fspath(Path(path).resolve())}
    answer = router.ask(question)
    if "aborted_because" in answer:
        raise RouterFailureError(f"the real replay aborted: {answer['aborted_because']}")
    return answer["wall_time_ms"], answer["elapsed_ms"], answer["requests"]


def _question(case: ReplayCase, report: str) -> dict[str, Any]:
    return {
        "kind": "replay",
        "policy": case.policy_yaml,
        "trace": case.trace_text(),
        "workers": case.workers,
        "engine": dict(case.engine),
        "trace_block_size": case.trace_block_size,
        "options": dict(case.options),
        "report": report,
    }


def _observed_row(request: Mapping[str, Any]) -> ObservedRow:
    history = request["routing_history"]
    route: Mapping[str, Any] = history[-1] if history else {}
    return ObservedRow(
        outcome=route.get("outcome", ""),
        released_at_ms=route.get("released_at_ms"),
        worker=route.get("logical_worker_id"),
        first_admit_ms=request["first_admit_ms"],
        first_token_ms=request["first_token_ms"],
        last_token_ms=request["last_token_ms"],
    )
