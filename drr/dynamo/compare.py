"""Ours beside the real router: the same case through our engine, and the first difference between two answers."""

from __future__ import annotations

from collections.abc import Sequence

from drr.dynamo.case import ObservedRow, ReplayAnswer, ReplayCase
from drr.errors import WorkloadError
from drr.policy import load_policy
from drr.policy.profiles import QUEUE_POLICIES
from drr.policy.schema import Profile, synthetic_profile
from drr.scheduler.ring import CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.workload.mooncake import table_from_rows


def profile_of(case: ReplayCase) -> Profile:
    """The profile that serves a case, as the real replay resolves it from policy file and model name.

    Raises :class:`WorkloadError` for a ``router_queue_policy`` that is not modelled.
    """
    if not case.policy_yaml:
        queue_policy = case.options.get("router_queue_policy", "fcfs")
        if queue_policy not in QUEUE_POLICIES:
            raise WorkloadError(f"router_queue_policy {queue_policy!r}; {' and '.join(QUEUE_POLICIES)} are modelled")
        return synthetic_profile(case.options.get("router_queue_threshold"), queue_policy)
    return load_policy(case.policy_yaml).profile_for(case.options.get("model_name"))


def ours(case: ReplayCase, follow: Sequence[int | None] | None = None) -> ReplayAnswer:
    """Our replay of a case in the form of the real one: cursor rule ``carry``, aborting where the real replay aborts.

    ``follow`` is the worker of every row on the real router; ours takes it, and names the rows where it was not among
    the cheapest.
    """
    return answer_of(our_run(case, follow))


def our_run(case: ReplayCase, follow: Sequence[int | None] | None = None, *, cursor_rule: CursorRule = "carry") -> Run:
    """The run behind :func:`ours`, without recording, under either cursor rule."""
    return replay(
        profile_of(case),
        table_from_rows(case.rows, trace_block_size=case.trace_block_size),
        workers=case.workers,
        engine=EngineOptions.from_mapping(case.engine),
        trace_block_size=case.trace_block_size,
        arrival_speedup_ratio=case.options.get("arrival_speedup_ratio", 1.0),
        cursor_rule=cursor_rule,
        abort_on_refusal=True,
        follow=follow,
        record=False,
    )


def answer_of(run: Run) -> ReplayAnswer:
    """A run of ours on workers without ranks in the form of the real router's answer."""
    if run.aborted_because is not None:
        return ReplayAnswer(None, aborted_because=run.aborted_because, not_cheapest=run.not_cheapest)
    workers = [endpoint if endpoint >= 0 else None for endpoint in run.endpoint]
    columns = (run.outcome, run.released_at_ms, workers, run.first_admit_ms, run.first_token_ms, run.last_token_ms)
    rows = tuple(ObservedRow(*values) for values in zip(*columns, strict=True))
    return ReplayAnswer(rows, not_cheapest=run.not_cheapest)


def first_difference(real: ReplayAnswer, own: ReplayAnswer) -> str | None:
    """Where two answers part, in words; ``None`` when they are equal bit for bit.

    Among the rows that differ it names the one whose difference comes first in time, since later ones may follow
    from it. Floats must be equal, not close.
    """
    if real.aborted_because is not None or own.aborted_because is not None:
        if real.aborted_because == own.aborted_because:
            return None
        return f"end of the replay: {_end(real)} on the real router, {_end(own)} here"
    if real.observed is None or own.observed is None:
        return f"no answer to compare: {real.failed_because or own.failed_because}"
    if len(real.observed) != len(own.observed):
        return f"rows: {len(real.observed):,} on the real router, {len(own.observed):,} here"
    pairs = [(line, *pair) for line, pair in enumerate(zip(real.observed, own.observed, strict=True))]
    differing = [(moment_ms(theirs, mine), line, theirs, mine) for line, theirs, mine in pairs if theirs != mine]
    if not differing:
        return _unlike_choice(own)
    _, line, theirs, mine = min(differing, key=lambda entry: entry[:2])
    texts = [
        f"{name} is {a!r} on the real router, {b!r} here"
        for name, a, b in zip(ObservedRow._fields, theirs, mine, strict=True)
        if a != b
    ]
    return f"row {line} (the first in time of {len(differing):,} that differ): {'; '.join(texts)}"


def _unlike_choice(own: ReplayAnswer) -> str | None:
    """A worker that the real router chose and that is not among the cheapest by our figures."""
    for line, (followed, cheapest) in own.not_cheapest.items():
        names = ", ".join(map(str, cheapest))
        return f"row {line}: worker is {followed} on the real router, the cheapest here: {names}"
    return None


def _end(answer: ReplayAnswer) -> str:
    return "complete" if answer.aborted_because is None else f"aborted ({answer.aborted_because})"


def _times(row: ObservedRow) -> tuple[float | None, ...]:
    return row.released_at_ms, row.first_admit_ms, row.first_token_ms, row.last_token_ms


def moment_ms(theirs: ObservedRow, mine: ObservedRow) -> float:
    """The earliest time at which two rows differ; rows that differ in no time come by what they share."""
    pairs = zip(_times(theirs), _times(mine), strict=True)
    times = [value for a, b in pairs if a != b for value in (a, b) if value is not None]
    return min(times, default=theirs.released_at_ms or theirs.first_admit_ms or 0.0)
