"""An experiment on the installed real router, row by row beside ours under both cursor rules."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drr.analysis.log import safe_row
from drr.analysis.words import listing
from drr.dynamo.case import ObservedRow, ReplayAnswer, ReplayCase
from drr.dynamo.compare import answer_of, first_difference, moment_ms, our_run
from drr.dynamo.process import RouterFailureError, RouterProcess, router_version
from drr.dynamo.replay import replay_real
from drr.errors import DrrError, WorkloadError
from drr.router.requests import RequestTable
from drr.scheduler.ring import CursorRule
from drr.simulation.engine_options import EngineOptions, FixedTiming, PolynomialTiming, timing_mapping
from drr.workload.experiment import Experiment, TypedWorkload
from drr.workload.traces_export import mooncake_lines, not_exported

RULES: tuple[CursorRule, ...] = ("carry", "documented")
"""The rule of the shipped wheels first."""
OUTCOME_WORDS = {"immediate": "sent at once", "queued": "by the ring", "refused": "refused", "error": "error", "": "–"}

Progress = Callable[[int, int], object]
"""Called with (parts done, parts in all), also again and again meanwhile; it may raise to end the comparison."""


class NotReplayableError(DrrError):
    """The real offline replay has no words for an experiment; the text says for what of it."""


def engine_mapping(engine: EngineOptions) -> dict[str, Any]:
    """Engine options by the mock engine's own names; those at their default are left out."""
    default = EngineOptions()
    options = {
        name: getattr(engine, name)
        for name in EngineOptions.__dataclass_fields__
        if getattr(engine, name) != getattr(default, name)
    }
    if isinstance(engine.timing_model, FixedTiming):
        options["timing_model"] = timing_mapping(engine.timing_model)
    else:
        options.pop("timing_model", None)
    return options


def case_of(experiment: Experiment, *, max_requests: int | None = None, progress: Progress | None = None) -> ReplayCase:
    """The experiment as a question to the real router; ``progress`` may raise while the requests are made.

    Raises :class:`NotReplayableError` with everything its offline replay cannot express, and what
    :meth:`Experiment.run` raises for inputs that are not valid.
    """
    reasons = not_replayable(experiment)
    if reasons:
        raise NotReplayableError(f"the real replay cannot run this experiment: {'; '.join(reasons)}")
    workload = experiment.workload
    assert not isinstance(workload, TypedWorkload)
    table, trace_block_size = workload.load(experiment.profile(), progress)
    if max_requests is not None and len(table) > max_requests:
        raise WorkloadError(
            f"the workload has {len(table):,} requests, at most {max_requests:,} are compared here: "
            "take fewer, or use python -m drr compare-real"
        )
    options: dict[str, Any] = {}
    if experiment.model is not None:
        options["model_name"] = experiment.model
    if experiment.arrival_speedup_ratio != 1.0:
        options["arrival_speedup_ratio"] = experiment.arrival_speedup_ratio
    return case_from_table(
        experiment.policy_text if experiment.policy_text.strip() else "",
        table,
        workers=experiment.workers,
        engine=engine_mapping(experiment.engine),
        trace_block_size=trace_block_size,
        options=options,
    )


def case_from_table(
    policy_text: str,
    table: RequestTable,
    *,
    workers: int,
    engine: Mapping[str, Any],
    trace_block_size: int,
    options: Mapping[str, Any],
) -> ReplayCase:
    """A policy and requests as a question; raises :class:`NotReplayableError` for what a trace row cannot say."""
    lost = not_exported(table)
    if lost:
        raise NotReplayableError(f"the real replay cannot run this workload: it knows no {listing(lost)}")
    if not len(table):
        raise WorkloadError("the workload has no requests")
    try:
        rows = tuple(json.loads(line) for line in mooncake_lines(table, trace_block_size=trace_block_size))
    except WorkloadError as error:
        raise NotReplayableError(f"the real replay cannot run this workload: {error}") from None
    return ReplayCase(policy_text, workers, engine, trace_block_size, options, rows)


def not_replayable(experiment: Experiment) -> tuple[str, ...]:
    """What of an experiment the real offline replay cannot express, as clauses; empty where it can run it."""
    if isinstance(experiment.workload, TypedWorkload):
        return ("typed queues run on the manual worker model, the real replay has mock engines and a trace",)
    reasons = []
    if experiment.arbiter != "drr":
        reasons.append("it has one arbiter, DRR, and the experiment chose another")
    if experiment.arrivals != "bypass":
        reasons.append("it sends requests that need not wait past the ring, and the experiment sends them through it")
    if experiment.dp_size > 1:
        reasons.append("its workers have no dp ranks")
    if experiment.taints:
        reasons.append("it knows no taints")
    if experiment.changes:
        reasons.append("its workers neither come nor go nor are overloaded meanwhile")
    timing = experiment.engine.timing_model
    if isinstance(timing, PolynomialTiming) and timing != PolynomialTiming():
        reasons.append("its pass times are the mock engine's own or fixed ones, not quadratics of your own")
    return tuple(reasons)


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One row on which ours and the real router part; ``cheapest`` is given where only the worker is in question."""

    row: int
    moment_ms: float
    real: ObservedRow
    own: ObservedRow
    cheapest: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """Ours under one cursor rule beside the real router. ``differing`` is in the order of time."""

    rule: CursorRule
    own: ReplayAnswer
    rows: int
    differing: tuple[RowDifference, ...]
    first: str | None
    """The first difference in words; None where everything is identical, the end of the replay included."""

    @property
    def identical(self) -> int:
        """Rows that are equal bit for bit, on workers that ours finds among the cheapest."""
        return 0 if self.own.observed is None else self.rows - len(self.differing)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """What the real router did with a case, and how far ours explains it under each rule. Columns are per row."""

    version: str | None
    case: ReplayCase = field(repr=False)
    real: ReplayAnswer = field(repr=False)
    answers: tuple[RuleAnswer, ...]
    class_names: tuple[str, ...]
    class_index: tuple[int, ...] = field(repr=False)
    cost_tokens: tuple[int, ...] = field(repr=False)

    @property
    def explained_by(self) -> tuple[CursorRule, ...]:
        """The rules under which nothing differs."""
        return tuple(answer.rule for answer in self.answers if answer.first is None)

    def answer(self, rule: CursorRule) -> RuleAnswer:
        """Ours under one rule."""
        return next(answer for answer in self.answers if answer.rule == rule)

    def counts_text(self) -> str:
        """How many rows are identical under each rule, in one line."""
        if self.real.observed is None:
            ends = "; ".join(f"{a.rule}: {'the same end' if a.first is None else 'another end'}" for a in self.answers)
            return f"the real replay ended early: {self.real.aborted_because}. {ends}"
        total = len(self.real.observed)
        return "; ".join(f"{a.rule}: {a.identical:,} of {total:,} rows identical" for a in self.answers)

    def verdict(self) -> str:
        """Which cursor rule explains what the real router did, in one sentence."""
        found = self.explained_by
        what = "every row" if self.real.observed is not None else "the early end"
        if len(found) == len(RULES):
            return f"Both cursor rules explain {what} of the real router: on this workload they do not differ."
        if found == ("carry",):
            return f"The carry rule explains {what} of the real router, the documented rule does not."
        if found:
            return f"The documented rule explains {what} of the real router, the carry rule does not."
        return "Neither cursor rule explains all that the real router did."


def compare_with_real(case: ReplayCase, *, time_limit_s: float = 60.0, progress: Progress | None = None) -> SideBySide:
    """Replay a case on the installed real router and on ours under both cursor rules.

    With several workers ours takes the worker the real router chose, which breaks exact ties at random; one that is not
    among the cheapest counts as a difference. Raises :class:`~drr.dynamo.process.RouterUnavailableError` without a
    router, :class:`~drr.dynamo.process.RouterFailureError` where it crashed or went over the time limit.
    """
    parts = 1 + len(RULES)

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, parts)

    tell(0)
    with RouterProcess(time_limit_s=time_limit_s, while_waiting=lambda: tell(0)) as router:
        real = replay_real(case, router=router)
    if real.failed_because is not None:
        raise RouterFailureError(real.failed_because)
    follow = real.workers_followed if case.workers > 1 else None
    answers, columns = [], None
    for done, rule in enumerate(RULES, start=1):
        tell(done)
        run = our_run(case, follow, cursor_rule=rule)
        answers.append(_rule_answer(rule, real, answer_of(run), len(case.rows)))
        columns = columns or (run.class_names, tuple(run.class_index), tuple(run.cost_tokens))
    tell(parts)
    assert columns is not None
    return SideBySide(router_version(), case, real, tuple(answers), *columns)


def _rule_answer(rule: CursorRule, real: ReplayAnswer, own: ReplayAnswer, rows: int) -> RuleAnswer:
    differing: list[RowDifference] = []
    if real.observed is not None and own.observed is not None:
        for row, (theirs, mine) in enumerate(zip(real.observed, own.observed, strict=True)):
            unlike = own.not_cheapest.get(row)
            if theirs != mine or unlike is not None:
                cheapest = () if unlike is None else unlike[1]
                differing.append(RowDifference(row, moment_ms(theirs, mine), theirs, mine, cheapest))
        differing.sort(key=lambda each: (each.moment_ms, each.row))
    return RuleAnswer(rule, own, rows, tuple(differing), first_difference(real, own))


# --- the differences as columns --------------------------------------------------------------------------------------

_TIMES = ("released_at_ms", "first_admit_ms", "first_token_ms", "last_token_ms")


def difference_columns(found: SideBySide, rule: CursorRule, most: int | None = None) -> dict[str, list[Any]]:
    """The rows that differ as columns, in the order of time: what each row is, and every field on both sides."""
    differing: Sequence[RowDifference] = found.answer(rule).differing[:most]
    columns: dict[str, list[Any]] = {
        "row": [d.row + 1 for d in differing],
        "class": [found.class_names[found.class_index[d.row]] for d in differing],
        "cost_tokens": [found.cost_tokens[d.row] for d in differing],
        "outcome_real": [OUTCOME_WORDS.get(d.real.outcome, d.real.outcome) for d in differing],
        "outcome_ours": [OUTCOME_WORDS.get(d.own.outcome, d.own.outcome) for d in differing],
        "worker_real": [d.real.worker for d in differing],
        "worker_ours": [d.own.worker if not d.cheapest else " or ".join(map(str, d.cheapest)) for d in differing],
    }
    for name in _TIMES:
        columns[f"{name}_real"] = [getattr(d.real, name) for d in differing]
        columns[f"{name}_ours"] = [getattr(d.own, name) for d in differing]
    return columns


def differences_csv(found: SideBySide, rule: CursorRule) -> str:
    """All rows that differ as CSV that is safe in a spreadsheet (comma, CRLF, a header line); None is an empty cell."""
    columns = difference_columns(found, rule)
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(columns)
    for values in zip(*columns.values(), strict=True):
        writer.writerow(safe_row(values))
    return out.getvalue()
