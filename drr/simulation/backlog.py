"""Service by backlog: how many tokens each class was dispatched while which classes were backlogged.

Shares mean something only while all classes that are compared have requests waiting, so service is summed per set of
backlogged classes. This needs little enough that a run without recording keeps it too.
"""

from __future__ import annotations

from collections.abc import Sequence

from drr.router.admission import Refusal
from drr.router.endpoints import SelectionError


class BacklogTally:
    """A listener that sums service. Sets of classes are bit masks: bit i stands for class i.

    ``service_tokens[mask][i]`` is what class i was dispatched by arbitration calls while exactly the classes of
    ``mask`` had requests waiting (the dispatched one included); ``service_requests`` counts requests alike.
    ``ever_backlogged`` is the mask of the classes in which anything ever waited.
    """

    def __init__(self, class_index: Sequence[int], cost_tokens: Sequence[int], classes: int) -> None:
        self._class_index = class_index
        self._cost_tokens = cost_tokens
        self._waiting = [0] * classes
        self._mask = 0
        self.ever_backlogged = 0
        self.service_tokens: dict[int, list[int]] = {}
        self.service_requests: dict[int, list[int]] = {}

    def queued(self, now_ms: float, request: int, lane: int) -> None:
        """An arrival joined a lane."""
        index = self._class_index[request]
        self._waiting[index] += 1
        if self._waiting[index] == 1:
            self._mask |= 1 << index
            self.ever_backlogged |= self._mask

    def dispatched(self, now_ms: float, request: int, endpoint: int) -> None:
        """An arbitration call let a request go."""
        index = self._class_index[request]
        mask = self._mask
        tokens = self.service_tokens.get(mask)
        if tokens is None:
            tokens = self.service_tokens[mask] = [0] * len(self._waiting)
            self.service_requests[mask] = [0] * len(self._waiting)
        tokens[index] += self._cost_tokens[request]
        self.service_requests[mask][index] += 1
        self._leave(index)

    def failed(self, now_ms: float, request: int, error: SelectionError, by_call: bool) -> None:
        """A request ended in a selection error; at the head of its lane it stops waiting."""
        if by_call:
            self._leave(self._class_index[request])

    def _leave(self, index: int) -> None:
        self._waiting[index] -= 1
        if not self._waiting[index]:
            self._mask &= ~(1 << index)

    def bypassed(self, now_ms: float, request: int, endpoint: int) -> None:
        """Nothing waits for it."""

    def refused(self, now_ms: float, request: int, refusal: Refusal) -> None:
        """Nothing waits for it."""

    def nothing_dispatched(self, now_ms: float) -> None:
        """Nothing changes."""

    def joint_service(self, mask: int) -> tuple[list[int], list[int]]:
        """Tokens and requests dispatched per class while at least the classes of ``mask`` were all backlogged."""
        tokens = [0] * len(self._waiting)
        requests = [0] * len(self._waiting)
        for backlogged, row in self.service_tokens.items():
            if backlogged & mask == mask:
                tokens = [a + b for a, b in zip(tokens, row, strict=True)]
                requests = [a + b for a, b in zip(requests, self.service_requests[backlogged], strict=True)]
        return tokens, requests
