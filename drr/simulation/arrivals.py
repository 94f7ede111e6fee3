"""When requests arrive: open arrivals by time, and the closed-loop turns of sessions."""

from __future__ import annotations

from heapq import heappop, heappush

from drr.errors import WorkloadError
from drr.router.requests import RequestTable


class Arrivals:
    """The queue of coming arrivals, in order of (time in ms, line of the session's first row).

    A row without session is a session of its own. Turns after the first become ready at the completion of the one
    before plus their ``delay_ms`` (or else the difference of the timestamps), both divided by the arrival speed-up.
    """

    def __init__(self, requests: RequestTable, speedup_ratio: float = 1.0) -> None:
        self._speedup = speedup_ratio
        self._next_turn: dict[int, int] = {}
        self._first_row: dict[int, int] = {}
        self._pause_ms: dict[int, float] = {}
        firsts = self._link_sessions(requests)
        base = min((self._timestamp(requests, row) for row in firsts), default=0.0)
        planned = [((self._timestamp(requests, row) - base) / speedup_ratio, row, row) for row in firsts]
        planned.sort(reverse=True)
        self._planned = planned
        self._turns: list[tuple[float, int, int]] = []

    def _link_sessions(self, requests: RequestTable) -> list[int]:
        """Chain the turns of every session; returns the first rows."""
        delays = requests.delay_ms
        if all(session is None for session in requests.session):
            first_delay = next((row for row, delay in enumerate(delays) if delay is not None), None)
            if first_delay is not None:
                raise WorkloadError(f"row {first_delay + 1}: delay is allowed only on later turns of a session_id")
            return list(range(len(requests)))
        firsts: list[int] = []
        last_of: dict[str, int] = {}
        stamp_of: dict[str, float] = {}
        for row, session in enumerate(requests.session):
            before = last_of.get(session) if session is not None else None
            delay = delays[row]
            stamp = requests.timestamp_ms[row]
            earlier = stamp_of.get(session) if session is not None else None
            if session is not None:
                last_of[session] = row
                if stamp is not None:
                    stamp_of[session] = stamp
            if before is None:
                if delay is not None:
                    raise WorkloadError(f"row {row + 1}: delay is not allowed on the first row of a session")
                firsts.append(row)
                continue
            # Turns without a timestamp are passed over: the difference is to the last one that has one. A turn with
            # neither timestamp nor delay is ready at once.
            gap = 0.0 if stamp is None else stamp - (earlier or 0.0)
            pause = delay if delay is not None else gap
            if pause < 0:
                what = "delay is" if delay is not None else "timestamp is before that of the previous turn: difference"
                raise WorkloadError(f"row {row + 1}: {what} {pause:g} ms, at least 0 is allowed")
            self._next_turn[before] = row
            self._first_row[row] = self._first_row.get(before, before)
            self._pause_ms[row] = pause
        return firsts

    @staticmethod
    def _timestamp(requests: RequestTable, row: int) -> float:
        timestamp = requests.timestamp_ms[row]
        if timestamp is None:
            raise WorkloadError(f"row {row + 1}: timestamp is missing; only later turns of a session can do without")
        return timestamp

    def next_ms(self) -> float | None:
        """Time of the next arrival, None where none is to come as things stand."""
        planned = self._planned[-1][0] if self._planned else None
        if self._turns and (planned is None or self._turns[0][0] < planned):
            return self._turns[0][0]
        return planned

    def pop(self) -> int:
        """Remove and return the next arrival's row."""
        if self._turns and (not self._planned or self._turns[0] < self._planned[-1]):
            return heappop(self._turns)[2]
        return self._planned.pop()[2]

    def completed(self, row: int, now_ms: float) -> None:
        """A request is over (served, refused or failed): the next turn of its session becomes ready after its pause."""
        following = self._next_turn.get(row)
        if following is not None:
            ready = now_ms + self._pause_ms[following] / self._speedup
            heappush(self._turns, (ready, self._first_row[following], following))
