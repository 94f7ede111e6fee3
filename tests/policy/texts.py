"""Policy texts that several tests start from."""

from __future__ import annotations

PREMIUM = """\
default_policy_family: regular
uncached_isl_buckets:
  - min_tokens: 0
    bucket: all
policy_classes:
  - name: premium
    policy_family: premium
    cache_bucket: all
    queue_policy: fcfs
    quantum: 512
    prefill_busy_threshold: 1536
    request_queue_limit_per_worker: 1024
  - name: regular
    policy_family: regular
    cache_bucket: all
    queue_policy: fcfs
    quantum: 128
    prefill_busy_threshold: 1536
    request_queue_limit_per_worker: 1024
"""

CACHED = """\
default_policy_family: standard
uncached_isl_buckets:
  - {min_tokens: 0, bucket: cached}
  - {min_tokens: 3072, bucket: uncached}
policy_classes:
  - {name: cached, policy_family: standard, cache_bucket: cached, queue_policy: wspt, quantum: 2048,
     prefill_busy_threshold_frac: 1.0}
  - {name: uncached, policy_family: standard, cache_bucket: uncached, quantum: 512, prefill_busy_threshold_frac: 1.0}
"""

PROFILE = (
    "{default_policy_family: a, uncached_isl_buckets: [{min_tokens: 0, bucket: all}], "
    "policy_classes: [{name: a, policy_family: a, cache_bucket: all, quantum: 5, prefill_busy_threshold: 1}]}"
)


def with_quantum(written: str) -> str:
    """PREMIUM with another spelling of the first quantum."""
    return PREMIUM.replace("quantum: 512", f"quantum: {written}")


def with_line(line: str) -> str:
    """PREMIUM with one more line in its second class."""
    return f"{PREMIUM}    {line}\n"
