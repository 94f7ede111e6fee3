"""Small real runs for charts."""

from __future__ import annotations

from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.requests import RequestTable
from drr.simulation.recording import Run
from drr.simulation.replay import replay


def real_run(
    quanta: dict[str, int], each: int = 60, *, limit: int | None = None, workers: int = 1, rule: str = "documented"
) -> Run:
    classes = tuple(
        PolicyClass(
            n,
            quantum=q,
            policy_family=n,
            cache_bucket="all",
            prefill_busy_threshold=1536,
            request_queue_limit_per_worker=limit,
        )
        for n, q in quanta.items()
    )
    profile = Profile(next(iter(quanta)), (CacheBucket(0, "all"),), classes)
    table = RequestTable()
    for k in range(each):
        for name in quanta:
            table.append(timestamp_ms=float(k // 20) * 400, isl_tokens=512, output_tokens=1, policy_header=name)
    return replay(profile, table, workers=workers, cursor_rule=rule)
