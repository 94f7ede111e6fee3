"""Our answers beside recordings of the real router: lanes, replays, policy files.

A recording is a JSON file (``.gz`` too) that holds a list of cases; which of the three kinds it is shows in their keys.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drr.dynamo.case import ObservedRow, ReplayAnswer, ReplayCase
from drr.dynamo.compare import first_difference, ours
from drr.errors import DrrError, WorkloadError
from drr.policy import load_policy, read_policy
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.ring import CursorRule
from drr.simulation.manual import Action, Arrive, At, Finish, run_manual


@dataclass(slots=True)
class RecordingCheck:
    """How many cases of a file came out the same, and the first difference of each of the others, by case name."""

    source: str
    cases: int = 0
    differences: dict[str, str] = field(default_factory=dict)

    @property
    def identical(self) -> int:
        """Cases without a difference."""
        return self.cases - len(self.differences)

    def text(self) -> str:
        """The summary line: name: N/M identical."""
        return f"{self.source}: {self.identical}/{self.cases} identical"


def check_recording(path: Path) -> RecordingCheck:
    """Run every case of a recording through our engine. Raises :class:`WorkloadError` for a file of no known kind."""
    check = RecordingCheck(path.name)
    for name, difference in _differences(_load(path), path.name):
        check.cases += 1
        if difference is not None:
            check.differences[name] = difference
    return check


def _load(path: Path) -> list[dict[str, Any]]:
    try:
        data = path.read_bytes()
        cases = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WorkloadError(f"cannot read recording {path}: {reason}") from None
    except ValueError as error:
        raise WorkloadError(f"recording {path} holds no valid JSON: {error}") from None
    if not isinstance(cases, list) or not cases or not all(isinstance(case, dict) for case in cases):
        raise WorkloadError(f"recording {path}: a list of cases is expected")
    return cases


def _differences(cases: list[dict[str, Any]], source: str) -> Iterator[tuple[str, str | None]]:
    kinds: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
        "steps": lane_difference,
        "rows": replay_difference,
        "latin1": policy_difference,
    }
    for position, case in enumerate(cases):
        kind = next((key for key in kinds if key in case), None)
        if kind is None:
            known = ", ".join(kinds)
            raise WorkloadError(f"recording {source}, case {position}: none of the keys {known} is there")
        name = str(case.get("name") or f"{case.get('category', 'case')}/{case.get('seed', position)}")
        try:
            yield name, kinds[kind](case)
        except DrrError as error:
            yield name, f"{type(error).__name__}: {error}"


def replay_difference(case: Mapping[str, Any]) -> str | None:
    """The first difference between a recorded replay and ours, None where they are equal bit for bit."""
    observed = case["observed"]
    rows = None if observed is None else tuple(ObservedRow(**row) for row in observed)
    real = ReplayAnswer(rows, aborted_because=case["replay_aborted_because"])
    follow = None if rows is None else [row.worker for row in rows]
    return first_difference(real, ours(ReplayCase.from_mapping(case), follow))


def policy_difference(case: Mapping[str, Any]) -> str | None:
    """Where the verdict on a policy file differs from the real loader's.

    What is loaded here with a warning that the router refuses it agrees with a router that does.
    """
    reading = read_policy(case["latin1"].encode("latin-1"))
    refusal = case["rejected_because"]
    if reading.router_accepts == (refusal is None):
        return None
    found = "; ".join(d.text() for d in reading.diagnostics) or "accepted"
    return f"the real router says {refusal or 'accepted'}, ours: {found}"


def lane_difference(case: Mapping[str, Any]) -> str | None:
    """Where our order of a lane recording differs: ``carry`` from the router's, ``documented`` from its reference."""
    fields: dict[CursorRule, str] = {"carry": "dispatched", "documented": "documented_rule_dispatches"}
    for rule, key in fields.items():
        expected = [step[key] for step in case["steps"] if step[key] is not None]
        order = _lane_order(case, rule)
        if order != expected:
            pairs = enumerate(zip(order, expected, strict=False))
            at = next((i for i, (mine, theirs) in pairs if mine != theirs), min(len(order), len(expected)))
            return f"rule {rule}, dispatch {at}: {expected[at : at + 1]} expected, {order[at : at + 1]} here"
    return None


def _lane_order(case: Mapping[str, Any], rule: CursorRule) -> list[int]:
    """Play a lane recording: the order in which its requests are dispatched."""
    requests = RequestTable()
    script: list[Action] = [
        Arrive(requests.append(blocker["tokens"], constraint=Constraint(blocker["worker"])))
        for blocker in case["blockers"]
    ]
    first = len(requests)
    for request in case["requests"]:
        pin = request["pinned_worker"]
        row = requests.append(
            request["tokens"],
            priority_jump=request["priority_jump"],
            strict_priority=request["strict_priority"],
            constraint=None if pin is None else Constraint(pin),
        )
        script += [At(request["arrival_s"] * 1000.0), Arrive(row)]
    script += [Finish(worker=step["free_worker"]) for step in case["steps"]]
    run = run_manual(
        load_policy(case["policy_yaml"]).profile_for(),
        requests,
        script,
        workers=[Worker(i + 1) for i in range(case["workers"])],
        capacity="policy",
        cursor_rule=rule,
    )
    return [run.step_request[step] - first for step in run.decision_steps if run.step_request[step] >= first]
