"""What a policy file means once it is read: frozen, validated, free of YAML.

Raw nodes become a :class:`PolicyDocument` in :mod:`drr.policy.reading`; nothing here knows about text, lines or marks.
All token figures are whole numbers of tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from drr.errors import UnknownModelError

QueuePolicy = Literal["fcfs", "wspt"]

MAX_UNSIGNED = 2**64 - 1
"""The largest number an unsigned field of the real router's policy file can hold."""


@dataclass(frozen=True, slots=True)
class CacheBucket:
    """A range of uncached input tokens: from ``min_tokens`` up to the next bucket's floor."""

    min_tokens: int
    name: str


@dataclass(frozen=True, slots=True)
class PolicyClass:
    """One class of the ring. A matrix class has a family and a bucket, an explicit class has neither.

    ``None`` in a threshold or limit means that it is not configured.
    """

    name: str
    quantum: int
    policy_family: str | None = None
    cache_bucket: str | None = None
    queue_policy: QueuePolicy = "fcfs"
    prefill_busy_threshold: int | None = None
    prefill_busy_threshold_frac: float | None = None
    busy_worker_ratio: float | None = None
    request_queue_limit_per_worker: int | None = None
    raw_isl_token_queue_limit_per_worker: int | None = None
    cached_token_queue_limit_per_worker: int | None = None

    @property
    def is_explicit(self) -> bool:
        """Whether the class is reached by its own name alone, never through a family."""
        return self.policy_family is None

    @property
    def has_threshold(self) -> bool:
        """Whether any worker can ever be busy for this class; without a threshold its requests never wait."""
        return self.prefill_busy_threshold is not None or self.prefill_busy_threshold_frac is not None


@dataclass(frozen=True, slots=True)
class Profile:
    """The classes of one model in file order (which is ring order), and how requests find theirs."""

    default_policy_family: str
    buckets: tuple[CacheBucket, ...]
    classes: tuple[PolicyClass, ...]
    _explicit: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _matrix: Mapping[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)
    _floors: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pairs = {(c.policy_family, c.cache_bucket): i for i, c in enumerate(self.classes) if not c.is_explicit}
        families = dict.fromkeys(c.policy_family for c in self.classes if c.policy_family is not None)
        matrix = {f: tuple(pairs[f, b.name] for b in self.buckets) for f in families}
        object.__setattr__(self, "_explicit", {c.name: i for i, c in enumerate(self.classes) if c.is_explicit})
        object.__setattr__(self, "_matrix", matrix)
        object.__setattr__(self, "_floors", tuple(b.min_tokens for b in self.buckets))

    @property
    def families(self) -> tuple[str, ...]:
        """The configured policy families in order of first appearance."""
        return tuple(self._matrix)

    def class_index(self, header: str | None, uncached_tokens: int) -> int:
        """Index of the class of a request with policy header ``header`` and exact ``uncached_tokens``.

        An explicit class is taken by its exact name whatever the cache says. Every other header that is no known
        family (missing, empty, unknown, the name of a matrix class) means the default family; the bucket is the
        highest floor not above ``uncached_tokens``.
        """
        if header is not None:
            explicit = self._explicit.get(header)
            if explicit is not None:
                return explicit
        if not self._matrix:  # the synthetic profile
            return 0
        row = self._matrix.get(header) if header is not None else None
        if row is None:
            row = self._matrix[self.default_policy_family]
        return row[bisect_right(self._floors, uncached_tokens) - 1]


def synthetic_profile(prefill_busy_threshold_frac: float | None = None, queue_policy: QueuePolicy = "fcfs") -> Profile:
    """The profile the router makes up where no file applies: one class ``default`` with quantum 1.

    It looks at no cache state; ``prefill_busy_threshold_frac`` and ``queue_policy`` are the router's own options
    (``router_queue_threshold`` and ``router_queue_policy``).
    """
    only = PolicyClass(
        "default", quantum=1, queue_policy=queue_policy, prefill_busy_threshold_frac=prefill_busy_threshold_frac
    )
    return Profile("default", (), (only,))


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """A whole policy file: the root profile, the profiles of named models, and the sections that are passed through."""

    root: Profile | None
    models: Mapping[str, Profile] = field(default_factory=dict)
    sections: Mapping[str, object] = field(default_factory=dict)
    """``router``, ``worker_selection`` and ``request_classifier`` as plain data; kept, not simulated."""

    def profile_for(self, model: str | None = None, *, strict: bool = False) -> Profile:
        """The profile that serves ``model``: its exact one, else the root's, else the synthetic one.

        With ``strict`` a model that the file does not name raises :class:`UnknownModelError` instead of falling back.
        """
        if model is not None and model in self.models:
            return self.models[model]
        if strict and model is not None:
            known = ", ".join(sorted(self.models)) or "none"
            raise UnknownModelError(f"the policy has no profile for model {model!r}; it names: {known}")
        return self.root if self.root is not None else synthetic_profile()
