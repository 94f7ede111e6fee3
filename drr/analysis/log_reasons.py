"""The last column of the event log: why, in a few words, made while walking through the run once."""

from __future__ import annotations

from drr.analysis.explain_arrivals import class_queues, refusal_product
from drr.analysis.explain_calls import cursor_phrase
from drr.analysis.explain_rivals import CHOSEN_BECAUSE
from drr.analysis.explain_waiting import Pool, find_pool, least_busy
from drr.analysis.explain_words import TIMES, number, verb
from drr.analysis.words import counted
from drr.scheduler.calls import BULK_RULES, CARRY_RULES, WINNING_RULES, Visit, VisitRule
from drr.scheduler.lanes import SHARED
from drr.simulation.recording import Recorder, Run
from drr.simulation.snapshots import CHECKPOINT_STEPS, Walker
from drr.simulation.state import StepKind

_CHANGE_WORDS = {
    ("held", True): "held busy by the script",
    ("held", False): "let go by the script",
    ("overloaded", True): "overloaded: out of every choice",
    ("overloaded", False): "no longer overloaded",
}


class LogReader:
    """Says why, step by step; steps have to be asked for in ascending order.

    It walks along with the run and jumps to a checkpoint where the next step is far away.
    """

    def __init__(self, run: Run) -> None:
        recorder = run.recorder
        if recorder is None:
            raise ValueError("this run was made without recording: it has results but no steps")
        self._run = run
        self._recorder: Recorder = recorder
        self._snapshots = run.snapshots
        self._walker: Walker | None = None

    def why(self, step: int) -> str:
        """The reason for what happened at a step, in a few words."""
        walker = self._before(step)
        kind = StepKind(self._run.kinds[step])
        if kind in (StepKind.FIRST_TOKEN, StepKind.COMPLETION):
            return self._signal(step, walker)
        if kind == StepKind.QUEUED:
            return self._queued(step, walker)
        if kind == StepKind.BYPASSED:
            return self._bypassed(step, walker)
        if kind == StepKind.REFUSED:
            return self._refused(step)
        if kind == StepKind.ERROR:
            return self._run.reason(self._run.step_request[step]) or ""
        if kind == StepKind.WORKER_CHANGE:
            return self._change(step)
        self._to(step)
        return self._call(step)

    # --- walking -----------------------------------------------------------------------------------------

    def _before(self, step: int) -> Walker:
        """The small state before a step."""
        walker = self._walker
        if walker is None or walker.step >= step or step - walker.step > CHECKPOINT_STEPS:
            walker = self._walker = self._snapshots.walker_at(step - 1)
        self._to(step - 1)
        return walker

    def _to(self, step: int) -> None:
        walker = self._walker
        assert walker is not None, "a walk has begun"
        if walker.step < step:
            for _ in self._snapshots.walk(walker):
                if walker.step == step:
                    return

    # --- reasons -----------------------------------------------------------------------------------------

    def _call(self, step: int) -> str:
        walker = self._walker
        assert walker is not None, "a walk has begun"
        visits = walker.visits
        calls = self._recorder.calls
        cursor = calls.cursors[walker.call]
        cursor_before = calls.cursors[walker.call - 1] if walker.call else 0
        row = self._run.step_request[step]
        if row < 0:
            return self._nothing(visits)
        winner = next(visit for visit in visits if visit.rule in WINNING_RULES)
        if winner.rule == VisitRule.CHOSEN:
            error = f"; error: {self._run.reason(row)}" if self._run.kinds[step] == StepKind.HEAD_ERROR else ""
            return CHOSEN_BECAUSE[self._run.inputs.arbiter] + error
        left = f"{number(winner.deficit_after)} left"
        if not walker.waiting[winner.class_index]:
            left = "class empty, 0 left"
        name = self._run.class_names[cursor]
        move = (
            cursor_phrase(winner.class_index, cursor_before, cursor, name).removesuffix(f"stays on {name}") or "stays"
        )
        text = f"{self._held(winner, walker)} pays {number(winner.charged_tokens)}, {left}; cursor {move}"
        if calls.carried[walker.call] >= 0:
            text += f", {self._run.class_names[calls.carried[walker.call]]} carried"
        if self._run.kinds[step] == StepKind.HEAD_ERROR:
            text += f"; error: {self._run.reason(row)}"
        return text

    def _held(self, winner: Visit, walker: Walker) -> str:
        kept = number(winner.deficit_before)
        total = number(winner.deficit_before + winner.granted_tokens)
        if winner.rule in BULK_RULES:
            rounds = number(self._recorder.calls.rounds[walker.call])
            return (
                f"{kept} + {rounds} {TIMES} {number(self._run.profile.classes[winner.class_index].quantum)} = {total}"
            )
        if winner.granted_tokens:
            return f"{kept} kept + {number(winner.granted_tokens)} granted = {total}"
        return f"carried: {kept} kept" if winner.rule == VisitRule.CARRY_PAYS else f"{kept} kept"

    def _nothing(self, visits: list[Visit]) -> str:
        stopped = sum(visit.rule == VisitRule.BLOCKED for visit in visits)
        text = (
            f"{counted(stopped, 'class') if stopped else 'nothing'} {'blocked' if stopped else 'waits'}; cursor stays"
        )
        if visits and visits[0].rule in CARRY_RULES:
            text += f", carry of {self._run.class_names[visits[0].class_index]} forgotten"
        return text

    def _pool(self, step: int, walker: Walker, lane: int) -> tuple[int, Pool | None]:
        """The class of an arrival, and who might have served it; None where nobody."""
        row = self._run.step_request[step]
        index = self._run.class_index[row]
        cluster = self._snapshots.cluster(walker.changes)
        constraint = self._run.requests.constraints.get(row)
        if lane == SHARED and constraint is not None:
            lane = cluster.target(constraint)
        pool = find_pool(self._run, cluster, walker.loads, class_index=index, request=row, lane=lane)
        return index, pool if isinstance(pool, Pool) else None

    def _queued(self, step: int, walker: Walker) -> str:
        index, pool = self._pool(step, walker, self._run.step_endpoint[step])
        ahead = walker.waiting[index]
        if ahead:
            return f"{counted(ahead, 'request')} of its class {verb(ahead, 'waits', 'wait')} already"
        if pool is None or not pool.is_blocked:
            return "sent through the ring, nothing holds it up"
        least = least_busy(pool.stopped)
        if least.limit_tokens < 0:
            stopped = f"{self._run.endpoint_names[least.endpoint]} held busy"
        else:
            compared = f"{number(least.active_prefill_tokens)} > {number(least.limit_tokens)}"
            stopped = f"{self._run.endpoint_names[least.endpoint]} busy: {compared}"
        if len(pool.eligible) == 1:
            return stopped
        return f"{len(pool.stopped):,} of {len(pool.eligible):,} busy, least {stopped}"

    def _bypassed(self, step: int, walker: Walker) -> str:
        if not class_queues(self._run, self._run.class_index[self._run.step_request[step]]):
            return "no busy threshold: never waits"
        _, pool = self._pool(step, walker, SHARED)
        assert pool is not None, "a request that nobody may serve ends in an error"
        free = len(pool.eligible) - len(pool.stopped)
        return f"class empty, {free:,} of {len(pool.eligible):,} free"

    def _refused(self, step: int) -> str:
        refusal = self._run.refusal_at(step)
        assert refusal is not None, "a refused arrival has a refusal"
        product = refusal_product(self._run, refusal)
        return f"{refusal.kind}: {number(refusal.current)} wait, limit {number(refusal.limit)} = {product}"

    def _signal(self, step: int, walker: Walker) -> str:
        endpoint = self._run.step_endpoint[step]
        held = walker.loads[endpoint]
        self._to(step)
        holds = walker.loads[endpoint]
        name = self._run.endpoint_names[endpoint]
        if held == holds:
            return f"{name} still holds {number(holds)}"
        return f"{number(held - holds)} off {name}: {number(held)} to {number(holds)}"

    def _change(self, step: int) -> str:
        change = self._recorder.changes[step]
        if change.what == "join" and change.worker is not None:
            return f"joins with {counted(change.worker.dp_size, 'dp rank')}"
        if change.what == "leave":
            return "leaves; nothing that waits is thrown out"
        return _CHANGE_WORDS[change.what, change.value]
