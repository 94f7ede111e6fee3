"""An experiment: everything a run depends on, as one value that can be compared, hashed, saved, shared and run.

Equal experiments give equal runs, so a run may be kept under :attr:`Experiment.key`.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import ClassVar, get_args

from drr.errors import TooManyRequestsError, WorkloadError
from drr.policy import load_policy
from drr.policy.schema import Profile, synthetic_profile
from drr.router.endpoints import Worker
from drr.router.requests import RequestTable
from drr.router.router import ARRIVAL_MODES, ArrivalMode
from drr.scheduler.arbiters import ARBITERS, ArbiterName
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.cluster import Change, TimedChange
from drr.simulation.engine_options import SPEEDUPS, EngineOptions, in_speedup_range, timing_mapping
from drr.simulation.manual import Capacity, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import Progress as Progress
from drr.simulation.replay import replay
from drr.workload.generate import generate
from drr.workload.mapping import ClassMapping
from drr.workload.spec_reading import load_spec
from drr.workload.trace_workload import TraceWorkload as TraceWorkload
from drr.workload.trace_workload import window_of
from drr.workload.traces_formats import TraceSpec
from drr.workload.typed import load_typed

MAX_ENDPOINTS = 10_000
"""Endpoints of one run: the router looks at each of them for every request."""
FORMAT = 1
"""Version of :meth:`Experiment.to_mapping`; a reader refuses what it does not know."""


def _silently(progress: Progress | None) -> Progress | None:
    """Making requests can be cancelled like running them, but no request is over meanwhile."""
    return None if progress is None else lambda made, expected: progress(0, expected)


@dataclass(frozen=True, slots=True)
class SpecWorkload:
    """Generated requests: the text of a workload spec (see :mod:`drr.workload.spec`)."""

    kind: ClassVar[str] = "spec"
    text: str

    def load(self, profile: Profile, progress: Progress | None = None) -> tuple[RequestTable, int]:
        """The requests, and the tokens per prefix block."""
        spec = load_spec(self.text)
        return generate(spec, _silently(progress)), spec.trace_block_size


@dataclass(frozen=True, slots=True)
class TypedWorkload:
    """Hand-typed queues on the manual worker model. Without a policy text the queues name their own quanta."""

    kind: ClassVar[str] = "typed"
    text: str
    capacity: Capacity = "open"


Workload = SpecWorkload | TypedWorkload | TraceWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A policy, a workload and a cluster. An empty ``policy_text`` is the router's synthetic profile."""

    policy_text: str
    workload: Workload
    model: str | None = None
    workers: int = 1
    dp_size: int = 1
    """dp ranks of every worker, each an endpoint of its own."""
    taints: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Taints of workers, by worker id; of those that join later, too."""
    changes: tuple[TimedChange, ...] = ()
    """Workers that come, go or are overloaded during a run on the mock engines."""
    engine: EngineOptions = field(default_factory=EngineOptions)
    cursor_rule: CursorRule = "documented"
    arbiter: ArbiterName = "drr"
    arrivals: ArrivalMode = "bypass"
    """Whether a request that need not wait goes out at once, as in the offline replay, or by an arbitration call, as in
    the live service. Typed queues of capacity ``open`` and ``one`` always go through the ring."""
    arrival_speedup_ratio: float = 1.0
    seed: int = 0

    @property
    def key(self) -> str:
        """A digest that is equal for equal experiments."""
        text = json.dumps(self.to_mapping(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def profile(self) -> Profile:
        """The profile that serves the model; raises :class:`PolicyError` with everything that is wrong."""
        if not self.policy_text.strip():
            return synthetic_profile()
        return load_policy(self.policy_text).profile_for(self.model)

    def cluster(self) -> tuple[Worker, ...]:
        """The workers as the run starts. Raises :class:`WorkloadError` for more than :data:`MAX_ENDPOINTS`."""
        if self.workers * self.dp_size > MAX_ENDPOINTS:
            found = f"{self.workers:,} workers with {self.dp_size:,} dp ranks each"
            raise WorkloadError(f"{found} are given; at most {MAX_ENDPOINTS:,} endpoints are allowed")
        taints = {worker: frozenset(names) for worker, names in self.taints}
        return tuple(self._worker(number, taints) for number in range(self.workers))

    def _worker(self, number: int, taints: Mapping[int, frozenset[str]]) -> Worker:
        tokens = self.engine.max_num_batched_tokens
        return Worker(number, self.dp_size, max_num_batched_tokens=tokens, taints=taints.get(number, frozenset()))

    def _whole_changes(self) -> list[TimedChange]:
        """The changes; a worker that joins by its id alone and was not there from the start has its taints."""
        taints = {worker: frozenset(names) for worker, names in self.taints if worker >= self.workers}
        return [
            replace(timed, change=replace(timed.change, worker=self._worker(timed.change.worker_id, taints)))
            if timed.change.what == "join" and timed.change.worker in taints
            else timed
            for timed in self.changes
        ]

    def run(self, progress: Progress | None = None, *, max_requests: int | None = None, record: bool = True) -> Run:
        """Run it. ``progress(over, total)`` may raise to end the run early.

        More than ``max_requests`` requests raise :class:`TooManyRequestsError` before anything starts.
        """
        if isinstance(self.workload, TypedWorkload):
            return self._run_typed(self.workload)
        profile = self.profile()
        requests, trace_block_size = self.workload.load(profile, progress)
        if max_requests is not None and len(requests) > max_requests:
            raise TooManyRequestsError(len(requests), max_requests)
        return replay(
            profile,
            requests,
            workers=self.cluster(),
            engine=self.engine,
            trace_block_size=trace_block_size,
            arrival_speedup_ratio=self.arrival_speedup_ratio,
            cursor_rule=self.cursor_rule,
            arbiter=self.arbiter,
            arrivals=self.arrivals,
            seed=self.seed,
            changes=self._whole_changes(),
            record=record,
            progress=progress,
        )

    def _run_typed(self, typed: TypedWorkload) -> Run:
        queues = load_typed(typed.text, self.profile() if self.policy_text.strip() else None)
        arrivals = self.arrivals if typed.capacity == "policy" else "through_ring"
        return run_manual(
            queues.profile,
            queues.requests,
            queues.script_for(typed.capacity, self.cluster(), arrivals),
            workers=self.cluster(),
            capacity=typed.capacity,
            cursor_rule=self.cursor_rule,
            arbiter=self.arbiter,
            arrivals=arrivals,
            seed=self.seed,
        )

    def to_mapping(self) -> dict[str, object]:
        """Plain JSON data without anything of this machine; what stands at its default is left out."""
        workload = {"kind": self.workload.kind, **_plain(self.workload, leave_out=("path",))}
        return {"format": FORMAT, **_plain(self, leave_out=("workload",)), "workload": workload}

    @classmethod
    def from_mapping(cls, data: Mapping[str, object]) -> Experiment:
        """Read what :meth:`to_mapping` wrote; anything else raises :class:`WorkloadError`."""
        if data.get("format") != FORMAT:
            raise WorkloadError(f"experiment: format {_shown(data.get('format'))} is unknown, {FORMAT} is allowed")
        rest = {key: value for key, value in data.items() if key not in ("format", "workload")}
        workload = data.get("workload")
        if not isinstance(workload, Mapping):
            raise WorkloadError("experiment: workload is missing")
        values = _checked("experiment", rest, _EXPERIMENT_FIELDS)
        values.setdefault("policy_text", "")
        return cls(workload=_workload(workload), **values)  # type: ignore[arg-type]


def _plain(value: Experiment | Workload, *, leave_out: tuple[str, ...]) -> dict[str, object]:
    """The fields that do not stand at their default, as JSON data."""
    found: dict[str, object] = {}
    for each in fields(value):
        if each.name in leave_out:
            continue
        item = getattr(value, each.name)
        if isinstance(item, TraceSpec):
            found[each.name] = item.to_mapping()
        elif isinstance(item, ClassMapping):
            if item != ClassMapping():
                found[each.name] = item.to_mapping()
        elif isinstance(item, EngineOptions):
            if item != EngineOptions():
                found[each.name] = _engine_mapping(item)
        elif each.name == "changes":
            if item:
                found[each.name] = [[c.at_ms, c.change.what, c.change.worker_id] for c in item]
        elif each.name == "taints":
            if item:
                found[each.name] = [[worker, list(names)] for worker, names in item]
        elif item != each.default:
            found[each.name] = list(item) if isinstance(item, tuple) else item
    return found


def _engine_mapping(engine: EngineOptions) -> dict[str, object]:
    default = asdict(EngineOptions())
    changed = {name: value for name, value in asdict(engine).items() if value != default[name]}
    if engine.timing_model is not None:
        changed["timing_model"] = timing_mapping(engine.timing_model)
    return changed


def _workload(data: Mapping[str, object]) -> Workload:
    kinds = {each.kind: each for each in (SpecWorkload, TypedWorkload, TraceWorkload)}
    kind = data.get("kind")
    made = kinds.get(kind) if isinstance(kind, str) else None
    if made is None:
        raise WorkloadError(f"experiment: workload kind {_shown(kind)} is unknown, allowed are {', '.join(kinds)}")
    rest = {key: value for key, value in data.items() if key != "kind"}
    known = {each.name for each in fields(made)} - {"path"}
    values = _checked(f"{kind} workload", rest, {name: _WORKLOAD_FIELDS[name] for name in known})
    try:
        return made(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise WorkloadError(f"experiment: {kind} workload: {error}") from None


Check = Callable[[object], object]


def _checked(what: str, data: Mapping[str, object], known: Mapping[str, Check]) -> dict[str, object]:
    values = {}
    for name, value in data.items():
        if name not in known:
            raise WorkloadError(f"{what}: {_shown(name)} is unknown, allowed are {', '.join(sorted(known))}")
        try:
            values[name] = known[name](value)
        except OverflowError:
            raise WorkloadError(f"{what}: {name}: the number is too large") from None
        except (TypeError, ValueError) as error:
            raise WorkloadError(f"{what}: {name}: {error}") from None
    return values


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_shown(value)} is no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no text") from None
    return value


def _shown(value: object) -> str:
    """A value as an error names it."""
    return reprlib.repr(value)


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _whole(least: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{_shown(value)} is no whole number of at least {least}")
        return value

    return check


def _ratio(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not in_speedup_range(value):
        raise ValueError(f"{_shown(value)} given, {SPEEDUPS} is allowed")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{_shown(value)} is neither true nor false")
    return value


def _one_of(allowed: tuple[str, ...]) -> Check:
    def check(value: object) -> object:
        if value not in allowed:
            raise ValueError(f"{_shown(value)} is not one of {', '.join(allowed)}")
        return value

    return check


def _mapping(read: Callable[[Mapping[str, object]], object]) -> Check:
    def check(value: object) -> object:
        if not isinstance(value, Mapping):
            raise TypeError(f"{_shown(value)} is no mapping")
        return read(value)

    return check


def _changes(value: object) -> tuple[TimedChange, ...]:
    if not isinstance(value, list):
        raise TypeError("a list of [ms, what, worker id] is needed")
    found = []
    for item in value:
        if (
            not isinstance(item, list)
            or len(item) != 3
            or isinstance(item[0], bool)
            or not isinstance(item[0], int | float)
        ):
            raise TypeError(f"{_shown(item)} is not [ms, what, worker id]")
        found.append(TimedChange(float(item[0]), Change(item[1], _whole(0)(item[2]))))
    return tuple(found)


def _taints(value: object) -> tuple[tuple[int, tuple[str, ...]], ...]:
    if not isinstance(value, list):
        raise TypeError("a list of [worker id, [taints]] is needed")
    found = []
    for item in value:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[1], list):
            raise TypeError(f"{_shown(item)} is not [worker id, [taints]]")
        found.append((_whole(0)(item[0]), tuple(_text(name) for name in item[1])))
    return tuple(found)


_EXPERIMENT_FIELDS: dict[str, Check] = {
    "policy_text": _text,
    "model": _optional(_text),
    "workers": _whole(1),
    "dp_size": _whole(1),
    "taints": _taints,
    "changes": _changes,
    "arbiter": _one_of(tuple(ARBITERS)),
    "arrivals": _one_of(ARRIVAL_MODES),
    "engine": _mapping(EngineOptions.from_mapping),
    "cursor_rule": _one_of(CURSOR_RULES),
    "arrival_speedup_ratio": _ratio,
    "seed": _whole(0),
}
_WORKLOAD_FIELDS: dict[str, Check] = {
    "text": _text,
    "capacity": _one_of(get_args(Capacity)),
    "name": _text,
    "sha256": _text,
    "mapping": _mapping(ClassMapping.from_mapping),
    "spec": _optional(_mapping(TraceSpec.from_mapping)),
    "lenient": _flag,
    "first_rows": _optional(_whole(1)),
    "window_ms": _optional(window_of),
    "spread": _flag,
}
