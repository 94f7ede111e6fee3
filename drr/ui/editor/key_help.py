"""What every key of a policy file does, its unit and its default: for the editor's help and whoever documents them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drr.policy.profiles import QUEUE_POLICIES
from drr.policy.sections import ROUTER_SETTINGS, STAGES


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """One key: ``about`` says what it does, ``takes`` the allowed values with their unit, ``default`` what holds
    without it ("" where the key is required). ``words`` are its values where there are few; ``is_nested`` marks keys
    whose value stands on the lines below.
    """

    about: str
    takes: str
    default: str = ""
    words: tuple[str, ...] = ()
    is_nested: bool = False


_PROFILE = {
    "default_policy_family": KeyHelp(
        "The family of requests whose policy header is missing, empty or unknown.",
        "the name of a family that a class belongs to",
    ),
    "uncached_isl_buckets": KeyHelp(
        "Ranges of uncached prompt length. With the family, the bucket of a request decides its class.",
        "a list; the first bucket starts at 0 and floors rise",
        is_nested=True,
    ),
    "policy_classes": KeyHelp(
        "The classes of the ring, served in this order: one for each family and bucket, and explicit ones.",
        "a list of classes",
        is_nested=True,
    ),
}
_FILE = {
    **_PROFILE,
    "models": KeyHelp(
        "Profiles of single models by their exact name. Each replaces the profile above as a whole.",
        "`model name:` with the three keys of a profile below it",
        "default: every model has the profile above",
        is_nested=True,
    ),
    "router": KeyHelp(
        "Settings of the router itself. Kept, not simulated.",
        "settings by name",
        "optional",
        is_nested=True,
    ),
    "worker_selection": KeyHelp(
        "How the router picks workers, stage by stage. Kept, not simulated.",
        "a selection for a stage, or instances",
        "optional",
        is_nested=True,
    ),
    "request_classifier": KeyHelp(
        "A classifier of the router's own. Kept, not simulated.",
        "`type` and `parameters`",
        "optional",
        is_nested=True,
    ),
}
_BUCKET = {
    "min_tokens": KeyHelp(
        "The floor of the bucket: requests with at least so many uncached tokens, and fewer than the next floor.",
        "whole number of tokens, 0 in the first bucket",
    ),
    "bucket": KeyHelp("The name of the bucket, for `cache_bucket` of a class.", "letters, digits, `_`, `.` and `-`"),
}
_NO_LIMIT = "default: no limit"
_CLASS = {
    "name": KeyHelp(
        "The name of the class. For a class without family and bucket it is also the policy header that leads to it.",
        "letters, digits, `_`, `.` and `-`; once per profile",
    ),
    "policy_family": KeyHelp(
        "The family of the class: requests with this policy header belong to it. Goes with `cache_bucket`.",
        "letters, digits, `_`, `.` and `-`",
        "default: an explicit class, reached by its name alone",
    ),
    "cache_bucket": KeyHelp(
        "The bucket of uncached prompt length this class serves within its family.",
        "the name of a bucket of this profile",
        "default: an explicit class, reached by its name alone",
    ),
    "queue_policy": KeyHelp(
        "The order of waiting requests within the class: `fcfs` by arrival, `wspt` the cheapest first.",
        "`fcfs` or `wspt`",
        "default: fcfs",
        QUEUE_POLICIES,
    ),
    "quantum": KeyHelp(
        "Uncached tokens granted to the class each time the ring reaches it. While classes wait together, their quanta "
        "are the ratio they are served in.",
        "whole number of tokens from 1",
    ),
    "prefill_busy_threshold": KeyHelp(
        "A worker is busy for this class while it has more than so many active prefill tokens. Without any threshold "
        "the requests of a class never wait.",
        "whole number of tokens",
        "default: no threshold",
    ),
    "prefill_busy_threshold_frac": KeyHelp(
        "The same as a share of the worker's `max_num_batched_tokens`; with both thresholds either one is enough.",
        "number from 0, such as 0.5 or 1.0",
        "default: no threshold",
    ),
    "busy_worker_ratio": KeyHelp(
        "The class waits once this share of its eligible workers is busy. The router of release 1.6.1 refuses the key.",
        "number above 0, at most 1",
        "default: 1, all of them",
    ),
    "request_queue_limit_per_worker": KeyHelp(
        "New requests of the class are refused while at least so many of them wait, times the number of workers.",
        "whole number of requests per worker",
        _NO_LIMIT,
    ),
    "raw_isl_token_queue_limit_per_worker": KeyHelp(
        "New requests are refused while the prompts that wait have at least so many tokens, times the workers.",
        "whole number of prompt tokens per worker",
        _NO_LIMIT,
    ),
    "cached_token_queue_limit_per_worker": KeyHelp(
        "New requests are refused while the prompts that wait have at least so many cached tokens, times the workers.",
        "whole number of cached tokens per worker",
        _NO_LIMIT,
    ),
}
_FLAGS = ("true", "false")
_SETTING = "A setting of the router. Kept, not simulated."
_STAGE = "The worker selection of the {} stage. Kept, not simulated."

KEY_HELP: Mapping[str, Mapping[str, KeyHelp]] = {
    "file": _FILE,
    "profile": _PROFILE,
    "bucket": _BUCKET,
    "class": _CLASS,
    "router": {
        name: KeyHelp(_SETTING, takes, "optional", _FLAGS if kind is bool else ())
        for name, (kind, takes) in ROUTER_SETTINGS.items()
    },
    "worker_selection": {
        **{
            stage: KeyHelp(_STAGE.format(stage), "`default`, or the name of an instance", "optional")
            for stage in STAGES
        },
        "instances": KeyHelp(
            "Selections with a name, a type and parameters. Kept, not simulated.", "a list", "optional", is_nested=True
        ),
    },
    "request_classifier": {
        "type": KeyHelp("The kind of classifier. Kept, not simulated.", "letters, digits, `_`, `.` and `-`"),
        "parameters": KeyHelp("Passed to the classifier; not simulated.", "a mapping", "optional", is_nested=True),
    },
}
"""By the mapping a key stands in: the ``file``, a model's ``profile``, a ``bucket``, a ``class``, or a section."""
