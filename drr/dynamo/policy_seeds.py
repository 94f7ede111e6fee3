"""What policy mutants are made of: valid files that use every key in several styles, keys, and odd scalars."""

from __future__ import annotations

from typing import Any

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
    quantum: 128
    prefill_busy_threshold_frac: 0.5
"""

CACHED = """\
# two cache buckets and a class of its own
default_policy_family: standard
uncached_isl_buckets:
  - min_tokens: 0
    bucket: cached
  - min_tokens: 3072
    bucket: uncached
policy_classes:
  - name: cached
    policy_family: standard
    cache_bucket: cached
    queue_policy: wspt
    quantum: 2048
    prefill_busy_threshold_frac: 1.0
    raw_isl_token_queue_limit_per_worker: 100000
  - name: uncached
    policy_family: standard
    cache_bucket: uncached
    queue_policy: fcfs
    quantum: 512
    prefill_busy_threshold: 4000
    prefill_busy_threshold_frac: 2
    cached_token_queue_limit_per_worker: 5000
  - name: direct
    quantum: 1
    prefill_busy_threshold: 0
"""

MODELS = """\
models:
  org/large-model:
    default_policy_family: a
    uncached_isl_buckets:
      - {min_tokens: 0, bucket: all}
    policy_classes:
      - {name: a, policy_family: a, cache_bucket: all, quantum: 100, prefill_busy_threshold: 100}
  "7":
    default_policy_family: b
    uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
    policy_classes: [{name: b-all, policy_family: b, cache_bucket: all, quantum: 7, prefill_busy_threshold: 90}]
"""

SECTIONS = """\
router: {use_kv_events: true}
request_classifier:
  type: header
  parameters: {a: 1}
worker_selection:
  instances:
    - {name: picker, type: kv, parameters: {b: [2]}}
  aggregated: picker
default_policy_family: x
uncached_isl_buckets:
- min_tokens: 0
  bucket: any
policy_classes:
- name: x.any
  policy_family: x
  cache_bucket: any
  quantum: 64
"""

FLOW = """\
{default_policy_family: a, uncached_isl_buckets: [{min_tokens: 0, bucket: s}, {min_tokens: 10, bucket: l}],
 policy_classes: [{name: as, policy_family: a, cache_bucket: s, quantum: 3, prefill_busy_threshold: 0},
  {name: al, policy_family: a, cache_bucket: l, quantum: 4, queue_policy: wspt,
   prefill_busy_threshold: 12, prefill_busy_threshold_frac: null}]}
"""

ANCHORS = """\
default_policy_family: &fam regular
uncached_isl_buckets:
  - {min_tokens: 0, bucket: &b all}
policy_classes:
  - name: *fam
    policy_family: *fam
    cache_bucket: *b
    quantum: &q 0x80
    prefill_busy_threshold: 300
  - name: other
    policy_family: other
    cache_bucket: *b
    quantum: *q
    prefill_busy_threshold_frac: .25
"""

SEED_FILES = (PREMIUM, PREMIUM, CACHED, CACHED, MODELS, SECTIONS, FLOW, ANCHORS)
"""The plain files twice, they take the most kinds of damage."""


_TWO_FAMILIES: dict[str, Any] = {
    "default_policy_family": "regular",
    "uncached_isl_buckets": [{"min_tokens": 0, "bucket": "all"}],
    "policy_classes": [
        {
            "name": "premium",
            "policy_family": "premium",
            "cache_bucket": "all",
            "queue_policy": "fcfs",
            "quantum": 512,
            "prefill_busy_threshold": 1536,
            "request_queue_limit_per_worker": 1024,
        },
        {
            "name": "regular",
            "policy_family": "regular",
            "cache_bucket": "all",
            "quantum": 128,
            "prefill_busy_threshold_frac": 0.5,
        },
    ],
}

_TWO_BUCKETS: dict[str, Any] = {
    "default_policy_family": "standard",
    "uncached_isl_buckets": [{"min_tokens": 0, "bucket": "cached"}, {"min_tokens": 700, "bucket": "uncached"}],
    "policy_classes": [
        {
            "name": "cached",
            "policy_family": "standard",
            "cache_bucket": "cached",
            "queue_policy": "wspt",
            "quantum": 2048,
            "prefill_busy_threshold": 500,
            "raw_isl_token_queue_limit_per_worker": 10**6,
        },
        {
            "name": "uncached",
            "policy_family": "standard",
            "cache_bucket": "uncached",
            "quantum": 512,
            "prefill_busy_threshold_frac": 0.25,
        },
        {"name": "direct", "quantum": 1, "prefill_busy_threshold": 0},
    ],
}

_SECTION_DATA: dict[str, Any] = {
    "router": {"use_kv_events": True},
    "request_classifier": {"type": "header", "parameters": {"a": 1}},
    "worker_selection": {
        "instances": [{"name": "picker", "type": "kv", "parameters": {"b": [2]}}],
        "aggregated": "picker",
    },
}

SEED_DATA: tuple[dict[str, Any], ...] = (
    _TWO_FAMILIES,
    _TWO_BUCKETS,
    {"models": {"org/large-model": _TWO_FAMILIES, "7": _TWO_BUCKETS}},
    {**_TWO_FAMILIES, "models": {"m": _TWO_BUCKETS}},
    {**_TWO_FAMILIES, **_SECTION_DATA},
)
"""Valid policies as data."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


KEYS = _words("""
    default_policy_family uncached_isl_buckets policy_classes models router worker_selection request_classifier
    min_tokens bucket name policy_family cache_bucket queue_policy quantum prefill_busy_threshold
    prefill_busy_threshold_frac request_queue_limit_per_worker raw_isl_token_queue_limit_per_worker
    cached_token_queue_limit_per_worker type parameters instances aggregated
    busy_worker_ratio use_kv_events router_ttl_secs
""")
"""Keys of every level of a policy file."""

SCALARS = (
    *_words("""
        512 0 1 -1 +512 512.0 1e3 1E3 .5 5. 0.5 -0.0 00 0100 0o1000 0O17 0x200 0X1f 0xFFFFFFFFFFFFFFFF 0b1000 0b2 1_000
        1:30 1,000 18446744073709551615 18446744073709551616 -9223372036854775808 1e400 -1e400 1e-400
        340282366920938463463374607431768211455 340282366920938463463374607431768211456 0x1ffffffffffffffffffff
        .inf -.inf +.inf .Inf .INF .nan .NaN .NAN nan inf infinity true True TRUE false yes no on off y n null Null NULL
        ~ '' "" '512' "512" "5\\x312" "\\u0035" 2026-11-29 2026-11-29T10:00:00Z = << ? - : | > a b a:b a#b #c [512]
        {512} [] {} {a:1} "a 'a *x &x !!int !!str !!null !!float !!bool !t @a `a %a regular premium all fcfs wspt lcfs é
        日本 \U0001f600 \x7f \\n a\\b +0x10 -0x10 +0o7 +0b1 0x 0o 0b 0x1_0 +1 +-1 1. +.5 -.5 1e+3 1e-3 0.1e1 1.5 1.0 0.0
        1.0000000001 -0 +0 0.5. 1e 1e3.5 .e3 0.0e0 ._5 1_0.5 --1 ++1 0xg 08 09 0e0 -.nan 1.5e308 1.8e308 4.9e-324
    """),
    *(
        "{a: 1}",
        "&x 512",
        "!t 512",
        "!!int 512",
        "!!str 512",
        '!!int "512"',
        "!!float 512",
        "! 512",
        "[1, 2]",
        "5 12",
        "",
    ),
    *(
        "\u00a0",
        "\u2028",
        "\u0085",
        "512\u00a0",
        "a\ufeff",
        "'a''b'",
        '"a\\tb"',
        '"a\\',
        "512 # c",
        "512 #",
        "512\t# c",
    ),
)
"""Spellings that YAML 1.1, YAML 1.2 and typed readers take differently."""
