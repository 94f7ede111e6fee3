"""The probe: a bounded load on an OpenAI-compatible endpoint, and what became of every request.

One thread per request, all in the standard library. "At once" means it: every connection stands before the first
request goes out, and the requests go out one right after the other in the planned order.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from drr.dynamo.probe_http import CallFailedError, Exchange, Outcome, check_endpoint
from drr.dynamo.probe_plan import ProbeError, ProbePlan, read_key

SPARE_FILES = 64
TIME_IS_UP = "the probe's time was up before the answer was there"
STOPPED = "the probe was stopped before the answer was there"


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """What became of one request. Times are ms since the probe's first request could be sent, None for never."""

    row: int
    policy_class: str
    """Empty where no class was named."""
    outcome: Outcome
    sent_ms: float | None = None
    first_token_ms: float | None = None
    done_ms: float | None = None
    status: int | None = None
    tokens: int = 0
    """Pieces of the stream that brought text."""
    text: str = ""
    """Why it was refused or failed, or a remark."""

    @property
    def ttft_ms(self) -> float | None:
        """From sending to the first token."""
        if self.first_token_ms is None or self.sent_ms is None:
            return None
        return self.first_token_ms - self.sent_ms

    def to_mapping(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


OnRow = Callable[[ProbeRow], object]
"""Called in the calling thread with every result as it comes; whatever it raises ends the probe."""


def run_probe(
    plan: ProbePlan,
    *,
    on_row: OnRow | None = None,
    on_remark: Callable[[str], object] | None = None,
    stop: threading.Event | None = None,
) -> list[ProbeRow]:
    """Send what is planned and wait for the answers, never longer than planned; one row per request, in sending order.

    Nothing asks for consent here: that is the caller's duty (:meth:`ProbePlan.consent_line`). ``stop`` ends the probe
    early. Raises :class:`ProbeError` where the endpoint cannot be used at all; nothing was sent then but one question
    for its models.
    """
    key = read_key(plan)
    _allow_open_files(plan.count)
    remark = check_endpoint(plan, key)
    if remark is not None and on_remark is not None:
        on_remark(remark)
    load = _Load(plan, key, stop or threading.Event())
    rows: dict[int, ProbeRow] = {}
    try:
        for row in load.run():
            rows[row.row] = row
            if on_row is not None:
                on_row(row)
    finally:
        load.give_up()
    return [rows[number] for number in sorted(rows)]


def _allow_open_files(count: int) -> None:
    """Every request needs a file of the system; raise the soft limit where the hard one lets us."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ProbeError(f"this process may open {hard:,} files, {needed:,} are needed: send fewer requests")
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


class _Load:
    """One probe on its way."""

    def __init__(self, plan: ProbePlan, key: str | None, stop: threading.Event) -> None:
        self._plan = plan
        self._stop = stop
        self._exchanges = [Exchange(plan, request, key) for request in plan.requests()]
        self._turns = [threading.Event() for _ in self._exchanges]
        self._connected = [threading.Event() for _ in self._exchanges]
        self._results: queue.SimpleQueue[tuple[int, CallFailedError | None]] = queue.SimpleQueue()
        self._is_over = False
        self._start_s = time.perf_counter()
        self._deadline_s = self._start_s + plan.max_seconds

    def run(self) -> Iterator[ProbeRow]:
        """Rows as they come; those that have not come when time is up, or are stopped, come last."""
        left = set(range(len(self._exchanges)))
        at_once = self._plan.per_second is None
        starter = threading.Thread(target=self._send_at_once if at_once else self._send_paced, daemon=True)
        starter.start()
        while left and not self._must_end():
            try:
                number, failure = self._results.get(timeout=min(0.1, max(0.001, self._left_s())))
            except queue.Empty:
                continue
            if failure is not None and self._must_end():
                continue  # it failed because time is up
            if number in left:  # a request that could not be sent fails twice
                left.discard(number)
                yield self._row(number, failure)
        late = STOPPED if self._stop.is_set() else TIME_IS_UP
        self.give_up()
        for number in sorted(left):
            yield self._row(number, CallFailedError(late, self._exchanges[number].status, "unfinished"))

    def give_up(self) -> None:
        """End what is still on its way."""
        self._is_over = True
        for turn in self._turns:
            turn.set()
        for exchange in self._exchanges:
            if exchange.done_s is None:
                exchange.break_off()

    def _must_end(self) -> bool:
        return self._stop.is_set() or self._left_s() <= 0

    def _left_s(self) -> float:
        return self._deadline_s - time.perf_counter()

    def _send_at_once(self) -> None:
        for number in range(len(self._exchanges)):
            threading.Thread(target=self._attend, args=(number,), daemon=True).start()
        for ready in self._connected:
            ready.wait(max(0.0, self._left_s()))
        self._start_s = time.perf_counter()
        for number in range(len(self._exchanges)):
            if not self._is_over:
                self._send(number)
            self._turns[number].set()

    def _send_paced(self) -> None:
        self._start_s = start_s = time.perf_counter()
        for number, exchange in enumerate(self._exchanges):
            if self._stop.wait(max(0.0, start_s + exchange.request.due_s - time.perf_counter())) or self._is_over:
                return
            threading.Thread(target=self._attend, args=(number, True), daemon=True).start()

    def _send(self, number: int) -> None:
        """Send one request; where that fails, so does its reader."""
        exchange = self._exchanges[number]
        if exchange.raw is not None:
            try:
                exchange.send()
            except CallFailedError as failure:
                self._results.put((number, failure))

    def _attend(self, number: int, sends: bool = False) -> None:
        """The thread of one request."""
        exchange = self._exchanges[number]
        try:
            try:
                exchange.connect(self._deadline_s)
            finally:
                self._connected[number].set()
            if sends:
                exchange.send()
            else:
                self._turns[number].wait()
            if exchange.sent_s is not None and not self._is_over:
                exchange.read(self._deadline_s)
                self._results.put((number, None))
        except CallFailedError as failure:
            self._results.put((number, failure))
        except Exception as error:
            self._results.put((number, CallFailedError(f"this is a fault of the program: {error!r}")))
        finally:
            exchange.close()

    def _row(self, number: int, failure: CallFailedError | None) -> ProbeRow:
        exchange = self._exchanges[number]
        outcome: Outcome = "done" if failure is None else failure.outcome
        return ProbeRow(
            row=number,
            policy_class=exchange.request.policy_class,
            outcome=outcome,
            sent_ms=self._ms(exchange.sent_s),
            first_token_ms=self._ms(exchange.first_token_s),
            done_ms=self._ms(exchange.done_s) if failure is None else None,
            status=exchange.status if failure is None else failure.status,
            tokens=exchange.tokens,
            text=exchange.note if failure is None else str(failure),
        )

    def _ms(self, moment_s: float | None) -> float | None:
        return None if moment_s is None else (moment_s - self._start_s) * 1000.0
