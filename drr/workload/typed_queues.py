"""Typed queues as a value: a profile, requests, and the script that plays them on the manual worker model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from drr.policy.schema import CacheBucket, PolicyClass, Profile, QueuePolicy
from drr.router.endpoints import Worker
from drr.router.requests import RequestTable
from drr.router.router import ArrivalMode
from drr.simulation.manual import Action, Arrive, At, Call, Capacity, Change, Drain, Finish, run_manual
from drr.simulation.state import CALL_KINDS, DISPATCH_KINDS, StepKind

MS_PER_DISPATCH = 1000.0
"""The clock of a typed run: one second per step, so a priority jump of 2 s overtakes what came in the last two."""


def profile_of(quanta: Mapping[str, int], orders: Mapping[str, QueuePolicy] | None = None) -> Profile:
    """A profile with one family and class per name, in this ring order, ``fcfs`` where ``orders`` says nothing.

    The classes have no busy threshold, so they queue in manual runs (``open`` and ``one``) but in no replay.
    """
    classes = tuple(
        PolicyClass(
            name, quantum, policy_family=name, cache_bucket="all", queue_policy=(orders or {}).get(name, "fcfs")
        )
        for name, quantum in quanta.items()
    )
    return Profile(classes[0].name, (CacheBucket(0, "all"),), classes)


@dataclass(frozen=True, slots=True)
class TypedQueues:
    """Typed queues, ready to run: a profile, the requests (A1, A2 ... per class) and when each of them arrives.

    ``class_names`` are the names at the line starts in order of first appearance; ``after_dispatches`` is per request,
    ``changes`` are what happens to workers, each with the number of dispatches it happens after.
    """

    profile: Profile
    requests: RequestTable
    class_names: tuple[str, ...]
    after_dispatches: tuple[int, ...]
    changes: tuple[tuple[int, Change | Finish], ...] = ()

    @property
    def script(self) -> list[Action]:
        """The script for :func:`~drr.simulation.manual.run_manual` with ``capacity="open"``."""
        return self.script_for("open")

    def script_for(
        self, capacity: Capacity, workers: int | Sequence[Worker] = 1, arrivals: ArrivalMode = "through_ring"
    ) -> list[Action]:
        """What happens, one step per second: with ``open`` capacity a call, else the end of the oldest request.

        What comes later comes as soon as at least so many dispatches were made; the script goes on until nothing does.
        Dispatches are counted under the documented rule, DRR and seed 0, so that every rule and arbiter is shown on the
        same script; another order of dispatches may make one more or less by then.
        """
        how: dict[str, Any] = {"workers": workers, "capacity": capacity, "arrivals": arrivals}
        script: list[Action] = []
        clock = count(1)
        step: Action = Call() if capacity == "open" else Finish()
        for after in sorted({0, *self.after_dispatches, *(n for n, _ in self.changes)}):
            script += self._steps(script, clock, step, how, after) if after else []
            changes = [change for n, change in self.changes if n == after]
            # With open capacity the calls are the script's own, one a second.
            script += [replace(c, wait=True) if capacity == "open" and isinstance(c, Change) else c for c in changes]
            rows = [row for row, n in enumerate(self.after_dispatches) if n == after]
            script += [Arrive(row, wait=capacity != "policy") for row in rows]
            if capacity == "one":
                script.append(Drain())
        return script + self._steps(script, clock, step, how)

    def _steps(
        self,
        script: list[Action],
        clock: count[int],
        step: Action,
        how: Mapping[str, Any],
        dispatches: int | None = None,
    ) -> list[Action]:
        """The steps to add until so many dispatches were made (None: until nothing goes any more), found by trying."""
        before = run_manual(self.profile, self.requests, script, **how).n_steps
        trial = [*script, *[step] * len(self.requests)]
        run = run_manual(self.profile, self.requests, trial, **how)
        needed = gone = 0
        for at, kind in enumerate(run.kinds):
            if gone == dispatches:
                break
            if at >= before:
                if isinstance(step, Call):
                    if kind == StepKind.EMPTY_CALL:
                        break
                    needed += kind in CALL_KINDS
                else:
                    needed += kind == StepKind.COMPLETION
            gone += kind in DISPATCH_KINDS
        return [action for _ in range(needed) for action in (At(next(clock) * MS_PER_DISPATCH), step)]
