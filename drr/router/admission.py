"""Queue limits of a class, looked at only when a request is about to wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from drr.policy.schema import PolicyClass

LimitKind = Literal["requests", "raw_isl_tokens", "cached_tokens"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request met a full class (the real router answers HTTP 529)."""

    class_index: int
    kind: LimitKind
    current: int
    limit: int

    def text(self, class_name: str) -> str:
        """The reason in the words of the real router."""
        return (
            f'router policy class "{class_name}" queue {self.kind} limit reached '
            f"(current={self.current}, limit={self.limit})"
        )


class QueueLimits:
    """What waits in each class, counted in the three limited units, and the limits per endpoint."""

    def __init__(self, classes: Sequence[PolicyClass]) -> None:
        self._limits: list[tuple[tuple[LimitKind, int | None], ...]] = [
            (
                ("requests", c.request_queue_limit_per_worker),
                ("raw_isl_tokens", c.raw_isl_token_queue_limit_per_worker),
                ("cached_tokens", c.cached_token_queue_limit_per_worker),
            )
            for c in classes
        ]
        self.limited = [any(value is not None for _, value in limits) for limits in self._limits]
        self._usage = [[0, 0, 0] for _ in classes]

    def refusal(self, class_index: int, endpoints: int) -> Refusal | None:
        """Whether a class is full now. Only current usage counts, so the request that crosses a limit still gets in."""
        for (kind, value), current in zip(self._limits[class_index], self._usage[class_index], strict=True):
            if value is not None and current >= value * endpoints:
                return Refusal(class_index, kind, current, value * endpoints)
        return None

    def add(self, class_index: int, raw_tokens: int, cached_tokens: int, sign: int = 1) -> None:
        """A request starts (``sign`` 1) or stops (-1) to wait."""
        usage = self._usage[class_index]
        usage[0] += sign
        usage[1] += sign * raw_tokens
        usage[2] += sign * cached_tokens
