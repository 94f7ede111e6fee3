"""The router under arrivals, calls, completions and a changing cluster, against a plain model of all of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.endpoints import Endpoints, Worker
from drr.router.requests import Constraint, RequestTable
from drr.router.router import OUTCOMES, ArrivalMode, Router
from drr.router.selection import WorkerChoice
from drr.scheduler.calls import CallLog, replay_call
from drr.scheduler.lanes import SHARED
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from tests.scheduler.oracle import Called, SlowRing, Waiting

ROWS = 400
Endpoint = tuple[int, int]


@dataclass
class Place:
    """One (worker, dp rank) of the model."""

    worker: Worker
    load: int = 0
    held: bool = False
    overloaded: bool = False


@dataclass
class Model:
    """What the rules say, over plain dictionaries: who may serve what, who is busy, what waits."""

    classes: list[PolicyClass]
    places: dict[Endpoint, Place] = field(default_factory=dict)
    gone: dict[Endpoint, Place] = field(default_factory=dict)

    def eligible(self, constraint: Constraint) -> list[Endpoint]:
        found = []
        for (worker, rank), place in self.places.items():
            fits = (
                constraint.pin_worker in (None, worker)
                and (constraint.pin_worker is None or constraint.pin_rank in (None, rank))
                and (constraint.allowed_workers is None or worker in constraint.allowed_workers)
                and constraint.required_taints <= place.worker.taints
                and not place.overloaded
            )
            if fits:
                found.append((worker, rank))
        return found

    def is_busy(self, index: int, endpoint: Endpoint) -> bool:
        place = self.places[endpoint]
        policy_class = self.classes[index]
        above = policy_class.prefill_busy_threshold
        fraction = policy_class.prefill_busy_threshold_frac
        return (
            place.held
            or (above is not None and place.load > above)
            or (fraction is not None and place.load > fraction * place.worker.max_num_batched_tokens)
        )

    def is_blocked(self, index: int, constraint: Constraint) -> bool:
        eligible = self.eligible(constraint)
        if not eligible:
            return False
        ratio = self.classes[index].busy_worker_ratio
        count = sum(self.is_busy(index, endpoint) for endpoint in eligible)
        return count >= len(eligible) * (1.0 if ratio is None else ratio)

    def lane_of(self, constraint: Constraint) -> Endpoint | None:
        if constraint.pin_worker is None:
            return None
        if constraint.pin_rank is not None:
            return (constraint.pin_worker, constraint.pin_rank)
        ranks = [endpoint for endpoint in self.places if endpoint[0] == constraint.pin_worker]
        return ranks[0] if len(ranks) == 1 else None if ranks else (constraint.pin_worker, 0)


policy_classes = st.builds(
    dict,
    quantum=st.integers(1, 60),
    queue_policy=st.sampled_from(["fcfs", "wspt"]),
    prefill_busy_threshold=st.none() | st.integers(0, 60),
    prefill_busy_threshold_frac=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    busy_worker_ratio=st.none() | st.sampled_from([0.3, 0.5, 1.0]),
    request_queue_limit_per_worker=st.none() | st.integers(1, 6),
    raw_isl_token_queue_limit_per_worker=st.none() | st.integers(20, 200),
)
constraints = st.one_of(
    st.just(Constraint()),
    st.just(Constraint()),
    st.builds(Constraint, pin_worker=st.integers(0, 4), pin_rank=st.sampled_from([None, None, 0, 1])),
    st.builds(Constraint, allowed_workers=st.frozensets(st.integers(0, 3), min_size=1)),
    st.builds(Constraint, required_taints=st.just(frozenset({"big"}))),
    st.builds(Constraint, pin_worker=st.integers(0, 3), allowed_workers=st.frozensets(st.integers(0, 3), min_size=1)),
)
workers = st.builds(
    Worker,
    worker_id=st.integers(0, 3),
    dp_size=st.sampled_from([1, 1, 2]),
    dp_start=st.sampled_from([0, 0, 1]),
    max_num_batched_tokens=st.sampled_from([16, 64]),
    taints=st.sampled_from([frozenset(), frozenset({"big"})]),
)


class RouterMachine(RuleBasedStateMachine):
    """Arrivals (routed, or queued by hand), calls, drains, prefill ends, completions, and a cluster that changes."""

    @initialize(
        kinds=st.lists(policy_classes, min_size=1, max_size=4),
        cluster=st.lists(workers, max_size=3, unique_by=lambda w: w.worker_id),
        cursor_rule=st.sampled_from(CURSOR_RULES),
        arrivals=st.sampled_from(["bypass", "through_ring"]),
        plain=st.booleans(),
    )
    def start(
        self,
        kinds: list[dict[str, object]],
        cluster: list[Worker],
        cursor_rule: CursorRule,
        arrivals: ArrivalMode,
        plain: bool,
    ) -> None:
        names = [f"c{i}" for i in range(len(kinds))]
        classes = [
            PolicyClass(name, policy_family=name, cache_bucket="all", **kind)  # type: ignore[arg-type]
            for name, kind in zip(names, kinds, strict=True)
        ]
        profile = Profile("c0", (CacheBucket(0, "all"),), tuple(classes))
        self.table = RequestTable()
        for _ in range(ROWS):
            self.table.append(1)
        if not plain:
            self.table.constraints[ROWS - 1] = Constraint()
        self.plain = plain
        self.model = Model(classes)
        self.endpoints = Endpoints((), classes)
        self.log = CallLog()
        self.submitted: dict[int, int] = {}
        # A cluster of the start is there before the router is, later workers join.
        for worker in cluster:
            self.place(worker)
        self.router = Router(
            profile,
            self.endpoints,
            self.table,
            self.submit,
            choice=WorkerChoice(1, 7),
            block_size=1,
            cursor_rule=cursor_rule,
            arrivals=arrivals,
            log=self.log,
        )
        self.through_ring = arrivals == "through_ring"
        self.slow = SlowRing([(c.quantum, c.queue_policy == "wspt") for c in classes], carry=cursor_rule == "carry")
        self.rows = 0
        self.queued = 0
        self.now_ms = 0.0
        self.class_of: dict[int, int] = {}
        self.expected: dict[int, str] = {}
        self.running: list[int] = []
        self.prefilling: set[int] = set()
        self.calls: list[Called] = []
        self.replayed = [0] * len(classes)
        self.replayed_calls = 0

    # --- the model's side of what the router does ---------------------------------------------------------

    def constraint(self, row: int) -> Constraint:
        return self.table.constraints.get(row, Constraint())

    def blocked(self, index: int, request: Waiting) -> bool:
        return self.model.is_blocked(index, self.constraint(request.row))

    def submit(self, row: int, endpoint: int) -> None:
        assert row not in self.submitted, "nothing is served twice"
        self.submitted[row] = endpoint

    def place(self, worker: Worker) -> None:
        for rank in range(worker.dp_size):
            key = (worker.worker_id, worker.dp_start + rank)
            place = self.model.gone.pop(key, None) or Place(worker)
            place.worker = worker
            self.model.places[key] = place
        self.endpoints.add_worker(worker)

    def dispatched(self, row: int) -> None:
        """The model's request goes out: to the endpoint the router took, which must be one of the cheapest."""
        eligible = self.model.eligible(self.constraint(row))
        if not eligible:
            self.expected[row] = "error"
            assert row not in self.submitted
            return
        least = min(self.model.places[endpoint].load for endpoint in eligible)
        took = self.endpoints.keys[self.submitted[row]]
        assert took in eligible
        assert self.model.places[took].load == least
        self.model.places[took].load += self.table.isl_tokens[row]
        self.running.append(row)
        self.prefilling.add(row)

    def model_call(self) -> bool:
        called = self.slow.call(self.blocked)
        self.calls.append(called)
        if called.winner is not None:
            self.dispatched(called.winner.row)
        return called.winner is not None

    def model_drain(self) -> None:
        while self.model_call():
            pass

    def model_enqueue(self, row: int, lane: Endpoint | None) -> bool:
        index = self.class_of[row]
        policy_class = self.model.classes[index]
        count = len(self.model.places)
        waiting = self.slow.waiting[index]
        tokens = sum(request.cost for request in waiting)
        for used, limit in (
            (len(waiting), policy_class.request_queue_limit_per_worker),
            (tokens, policy_class.raw_isl_token_queue_limit_per_worker),
        ):
            if limit is not None and used >= limit * count:
                self.expected[row] = "refused"
                return False
        self.queued += 1
        request = Waiting(
            row,
            self.table.isl_tokens[row],
            self.queued,
            self.table.strict_priority[row],
            self.table.priority_jump[row],
            self.now_ms / 1000.0,
            lane,
        )
        self.slow.enqueue(index, request)
        self.expected[row] = "queued"
        return True

    # --- rules ----------------------------------------------------------------------------------------------

    def next_row(self, data: st.DataObject, cost: int, constraint: Constraint, wait_ms: float) -> int:
        row = self.rows
        self.rows += 1
        self.now_ms += wait_ms
        index = data.draw(st.integers(0, len(self.model.classes) - 1))
        self.table.isl_tokens[row] = cost
        self.table.policy_header[row] = f"c{index}"
        self.table.strict_priority[row] = data.draw(st.sampled_from([0, 0, 1]))
        self.table.priority_jump[row] = data.draw(st.sampled_from([0.0, 0.0, 0.5]))
        if not self.plain and constraint != Constraint():
            self.table.constraints[row] = constraint
        self.class_of[row] = index
        return row

    @precondition(lambda self: self.rows < ROWS - 1)
    @rule(
        data=st.data(),
        cost=st.integers(1, 80),
        constraint=constraints,
        wait_ms=st.sampled_from([0.0, 0.0, 10.0, 500.0]),
    )
    def arrive(self, data: st.DataObject, cost: int, constraint: Constraint, wait_ms: float) -> None:
        row = self.next_row(data, cost, constraint, wait_ms)
        index = self.class_of[row]
        policy_class = self.model.classes[index]
        self.router.arrive(row, self.now_ms)
        lane = self.model.lane_of(self.constraint(row))
        can_queue = (policy_class.prefill_busy_threshold, policy_class.prefill_busy_threshold_frac) != (None, None)
        waits = self.through_ring or self.slow.waiting[index] or self.model.is_blocked(index, self.constraint(row))
        if can_queue and waits:
            if self.model_enqueue(row, lane):
                self.model_drain()
        else:
            self.expected[row] = "immediate"
            self.dispatched(row)

    @precondition(lambda self: self.rows < ROWS - 1)
    @rule(data=st.data(), cost=st.integers(1, 80), constraint=constraints)
    def queue_by_hand(self, data: st.DataObject, cost: int, constraint: Constraint) -> None:
        row = self.next_row(data, cost, constraint, 0.0)
        index, lane = self.router.classify(row, self.now_ms)
        expected_lane = self.model.lane_of(self.constraint(row))
        assert index == self.class_of[row]
        assert lane == (SHARED if expected_lane is None else self.endpoints.index(*expected_lane))
        self.router.enqueue(row, self.now_ms, lane, drain=False)
        self.model_enqueue(row, expected_lane)

    @rule()
    def call(self) -> None:
        blocked = [
            (index, self.router.ring.deficits[index])
            for index, waiting in enumerate(self.slow.waiting)
            if waiting and self.slow.candidate(index, self.blocked) is None
        ]
        dispatched = self.router.call(self.now_ms)
        for index, deficit in blocked:
            assert self.router.ring.deficits[index] == deficit, "a blocked class gains nothing"
        assert self.model_call() == dispatched

    @rule()
    def drain(self) -> None:
        self.router.drain(self.now_ms)
        self.model_drain()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end_a_prefill_or_a_request(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.running))
        prefilling = row in self.prefilling
        completes = not prefilling or data.draw(st.booleans())
        if completes:
            self.running.remove(row)
            self.router.completed(row, prefilling=prefilling)
        else:
            self.router.prefill_ended(row)
        if prefilling:
            self.prefilling.discard(row)
            key = self.endpoints.keys[self.submitted[row]]
            (self.model.places.get(key) or self.model.gone[key]).load -= self.table.isl_tokens[row]
        self.router.drain(self.now_ms)
        self.model_drain()

    def changed(self) -> None:
        for endpoint in range(len(self.endpoints.keys)):
            self.router.endpoint_changed(endpoint)
        self.router.drain(self.now_ms)
        self.model_drain()

    @rule(worker=workers)
    def a_worker_joins_or_comes_back_changed(self, worker: Worker) -> None:
        for key in [key for key in self.model.places if key[0] == worker.worker_id]:
            self.model.gone[key] = self.model.places.pop(key)
        self.place(worker)
        self.changed()

    @precondition(lambda self: self.model.places)
    @rule(data=st.data())
    def a_worker_leaves(self, data: st.DataObject) -> None:
        worker, _ = data.draw(st.sampled_from(sorted(self.model.places)))
        for key in [key for key in self.model.places if key[0] == worker]:
            self.model.gone[key] = self.model.places.pop(key)
        self.endpoints.remove_worker(worker)
        self.changed()

    @precondition(lambda self: self.model.places)
    @rule(data=st.data(), value=st.booleans(), what=st.sampled_from(["held", "overloaded"]))
    def a_flag_changes(self, data: st.DataObject, value: bool, what: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.places)))
        endpoint = self.endpoints.index(*key)
        if what == "held":
            self.endpoints.set_held(endpoint, value)
            self.model.places[key].held = value
        else:
            self.endpoints.set_overloaded(endpoint, value)
            self.model.places[key].overloaded = value
        self.changed()

    # --- what must hold after every rule ---------------------------------------------------------------------

    @invariant()
    def deficits_cursor_and_carry_are_the_models(self) -> None:
        if not hasattr(self, "slow"):
            return
        ring = self.router.ring
        ring._check()
        assert ring.deficits == self.slow.deficits
        assert ring.cursor == self.slow.cursor
        assert ring.carried == (-1 if self.slow.carried is None else self.slow.carried)
        for index, lanes in enumerate(self.router.lanes):
            lanes_of_model = {request.lane for request in self.slow.waiting[index]}
            expected = {
                SHARED if lane is None else self.endpoints.index(*lane): [  # type: ignore[misc]
                    request.row for request in self.slow.lane(index, lane)
                ]
                for lane in lanes_of_model
            }
            assert {lane: [entry[3] for entry in entries] for lane, entries in lanes.lanes().items()} == expected

    @invariant()
    def every_request_is_in_one_place_and_loads_agree(self) -> None:
        if not hasattr(self, "slow"):
            return
        waiting = {request.row for waiting in self.slow.waiting for request in waiting}
        assert self.router.waiting == len(waiting)
        assert not waiting & set(self.submitted)
        for row in range(self.rows):
            assert OUTCOMES[self.router.outcomes.outcome[row]] == self.expected[row]
            done = row in self.submitted or row in waiting
            assert done == (self.expected[row] in ("immediate", "queued")), "nothing is lost"
        for key, place in {**self.model.gone, **self.model.places}.items():
            assert self.endpoints.loads[self.endpoints.index(*key)] == place.load >= 0
        assert self.endpoints.discovered() == len(self.model.places)

    @invariant()
    def an_empty_class_has_no_deficit_after_its_last_dispatch(self) -> None:
        if hasattr(self, "slow"):
            for index, waiting in enumerate(self.slow.waiting):
                assert waiting or self.router.ring.deficits[index] == 0

    @staticmethod
    def left_empty(called: Called) -> bool:
        """Whether the winner's class ended at 0; a class that paid exactly ends there just the same."""
        return any(look.charged and look.after == 0 for look in called.visits)

    @invariant()
    def the_log_tells_what_the_model_did(self) -> None:
        """Calls that find nothing may be left out; every other call is there, visit by visit."""
        if not hasattr(self, "slow"):
            return
        classes = self.model.classes
        position = self.replayed_calls
        for called in self.calls:
            if position == len(self.log):
                assert called.winner is None, "a call that dispatches is never left out"
                continue
            deficits = list(self.replayed)
            emptied = called.winner is not None and self.left_empty(called)
            visits = replay_call(
                self.log,
                position,
                deficits,
                quanta=[c.quantum for c in classes],
                costs=self.table.isl_tokens,
                emptied=emptied,
            )
            found = [
                (
                    v.class_index,
                    v.rule.name,
                    v.deficit_before,
                    v.granted_tokens,
                    v.head,
                    v.charged_tokens,
                    v.deficit_after,
                )
                for v in visits
            ]
            if called.winner is None and found != called.visits:
                continue
            assert found == called.visits
            assert self.log.rounds[position] == called.rounds
            self.replayed = deficits
            position += 1
        assert position == len(self.log)
        self.replayed_calls = position
        self.calls = []


TestRouter = RouterMachine.TestCase
TestRouter.settings = settings(stateful_step_count=30)
