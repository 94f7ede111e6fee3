"""Small workloads to test with, and statistical bounds."""

from __future__ import annotations

import math
from typing import Any

from drr.router.requests import RequestTable
from drr.workload.arrivals import Poisson
from drr.workload.distributions import Fixed
from drr.workload.generate import generate
from drr.workload.spec import Stream, WorkloadSpec

Z = 3.89
"""Two-sided bounds at a confidence of 99.99 %."""


def stream(**values: Any) -> Stream:
    given = {
        "name": "chat",
        "header": "premium",
        "arrivals": Poisson(100),
        "input_tokens": Fixed(512),
        "output_tokens": Fixed(1),
        **values,
    }
    if given.get("requests") is None and given.get("duration_ms") is None:
        given["requests"] = 4000
    return Stream(**given)


def made(*streams: Stream, seed: int = 1, **how: Any) -> RequestTable:
    return generate(WorkloadSpec(streams, seed=seed, **how))


def assert_share(hits: int, of: int, share: float) -> None:
    """A share of independent draws is as wanted, at 99.99 %."""
    assert abs(hits / of - share) <= Z * math.sqrt(share * (1 - share) / of)


def assert_count(arrived: int, expected: float) -> None:
    """A Poisson count is as expected, at 99.99 %."""
    assert abs(arrived - expected) <= Z * math.sqrt(expected)
