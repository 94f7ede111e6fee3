"""Policies, workloads and engines of the scenario library."""

from __future__ import annotations

from drr.policy import dump_policy
from drr.policy.samples import sample
from drr.policy.schema import CacheBucket, PolicyClass, PolicyDocument, Profile, QueuePolicy
from drr.simulation.engine_options import EngineOptions

# Policies

_ALL = (CacheBucket(0, "all"),)


def _policy(*classes: PolicyClass, buckets: tuple[CacheBucket, ...] = _ALL) -> str:
    """A policy file with these classes; the last one's family is the default."""
    return dump_policy(PolicyDocument(Profile(classes[-1].policy_family or "", buckets, classes)))


def _class(
    name: str,
    quantum: int,
    *,
    busy_above: int = 1536,
    order: QueuePolicy = "fcfs",
    limit: int | None = None,
) -> PolicyClass:
    """A class that is a family of its own; a worker is busy for it above so many active prefill tokens."""
    return PolicyClass(
        name,
        quantum,
        policy_family=name,
        cache_bucket="all",
        queue_policy=order,
        prefill_busy_threshold=busy_above,
        request_queue_limit_per_worker=limit,
    )


PREMIUM = sample("premium_4_to_1").text()
EQUAL = sample("equal_share").text()
CHAT = _policy(_class("chat", 512))
CHAT_WSPT = _policy(_class("chat", 512, order="wspt"))
LARGE_QUANTA = _policy(_class("premium", 2048, busy_above=0), _class("regular", 512, busy_above=0))
LIMITED = _policy(_class("premium", 512, limit=16), _class("regular", 128))
CACHED = _policy(
    PolicyClass("cached", 2048, "standard", "cached", "wspt", prefill_busy_threshold_frac=1.0),
    PolicyClass("uncached", 512, "standard", "uncached", prefill_busy_threshold_frac=1.0),
    buckets=(CacheBucket(0, "cached"), CacheBucket(3072, "uncached")),
)
TENANT_QUANTA = {"red": 4096, "orange": 2048, "yellow": 2048, "green": 1024, "blue": 1024, "indigo": 512, "violet": 512}
FOURTEEN = _policy(
    *(
        PolicyClass(f"{tenant}_{bucket}", quantum, tenant, bucket, prefill_busy_threshold=4096)
        for tenant, quantum in TENANT_QUANTA.items()
        for bucket in ("short", "long")
    ),
    buckets=(CacheBucket(0, "short"), CacheBucket(2048, "long")),
)

# Engines

FOUR_SEQUENCES = EngineOptions(max_num_seqs=4, block_size=512, num_gpu_blocks=100_000, enable_prefix_caching=False)
ONE_SEQUENCE = EngineOptions(max_num_seqs=1, enable_prefix_caching=False)
NO_CACHING = EngineOptions(enable_prefix_caching=False)
SMALL_CACHE = EngineOptions(num_gpu_blocks=1024)

# Typed queues

LECTURE = """\
A (60): 25 45 10
B (60): 50 30
C (60): 20 20 20 20
"""
OVERSIZED = """\
standard (1000): 7000
latency (2000): 9000 2000
"""
BLOCKED = """\
A (100): 60>0 60>0 30>0
B (100): 100>1 100>1 100>1 100>1 100>1
* finish 1 @2
* finish 1 @3
* finish 1 @4
"""
EMPTY = """\
A (100): 10 150@2
B (30): 30 30 30
"""
JOIN_LEAVE = """\
A (50): 50 50 50 50
B (50): 50 50 50 50>0 50
* join 1 @3
* leave 0 @6
"""

# Generated workloads

BURST = """\
# 320 + 320 different requests of 512 tokens, one output token each, all at once.
streams:
  - header: premium
    requests: 320
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
  - header: regular
    requests: 320
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
"""
SMALL_BURST = BURST.replace("512", "64")
STORM = BURST.replace("320", "100")
SPIKE = """\
streams:
  - header: premium
    duration_ms: 10000
    arrivals: {shape: spike, per_second: 0, spike_per_second: 100, start_ms: 2000, end_ms: 5000}
    input_tokens: 512
    output_tokens: 1
  - header: regular
    duration_ms: 10000
    arrivals: {shape: constant, per_second: 60}
    input_tokens: 512
    output_tokens: 1
"""
HOT = """\
streams:
  - name: pinned
    header: chat
    requests: 300
    arrivals: {shape: poisson, per_second: 30}
    input_tokens: {shape: bimodal, low: 512, high: 8000, high_share: 0.1}
    output_tokens: 1
    pinned: {share: 1, workers: [0]}
  - name: anywhere
    header: chat
    requests: 150
    arrivals: {shape: poisson, per_second: 15}
    input_tokens: 512
    output_tokens: 1
"""
LARGE_FIRST = """\
streams:
  - name: large
    header: chat
    requests: 6
    arrivals: {shape: burst}
    input_tokens: 4096
    output_tokens: 1
  - name: small
    header: chat
    duration_ms: 6000
    arrivals: {shape: poisson, per_second: 90}
    input_tokens: 512
    output_tokens: 1
"""
URGENT = """\
streams:
  - name: ordinary
    header: chat
    requests: 30
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
  - name: urgent
    header: chat
    duration_ms: 6000
    arrivals: {shape: poisson, per_second: 90}
    input_tokens: 512
    output_tokens: 1
    strict_priority: [{share: 1, level: 1}]
"""
FLOOD = """\
streams:
  - name: chat
    header: standard
    duration_ms: 12000
    arrivals: {shape: on_off, per_second: 4, on_ms: 4000, off_ms: 4000}
    input_tokens: 8192
    output_tokens: 1
    cache_hits: {shape: fixed, share: 0.75}
  - name: flood
    header: standard
    start_ms: 5000
    requests: 12
    arrivals: {shape: burst}
    input_tokens: 8192
    output_tokens: 1
"""
SEVEN_TENANTS = "streams:\n" + "".join(
    f"""\
  - header: {tenant}
    requests: 200
    arrivals: {{shape: poisson, per_second: 1000}}
    input_tokens: {{shape: bimodal, low: 1024, high: 4096, high_share: 0.4}}
    output_tokens: 1
"""
    for tenant in TENANT_QUANTA
)
