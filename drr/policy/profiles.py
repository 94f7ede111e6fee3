"""From the nodes of one profile to a resolved :class:`Profile`: the fields, then what they must be to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from drr.policy.diagnostics import Position, quoted
from drr.policy.fields import (
    IDENTIFIER,
    IDENTIFIER_CHARACTERS,
    Field,
    FieldReader,
    Given,
    closest,
    code_list,
    described,
)
from drr.policy.schema import CacheBucket, PolicyClass, Profile, QueuePolicy
from drr.policy.yaml12 import Node, Scalar

QUEUE_POLICIES: tuple[str, ...] = get_args(QueuePolicy)


def _queue_policy(reader: FieldReader, node: Node, path: str) -> str | None:
    """The order inside a class. The router also takes it as a tag (``!wspt``) with nothing behind it."""
    allowed = code_list(QUEUE_POLICIES) + ", in lower case"
    if not isinstance(node, Scalar):
        reader.error(node.position, path, f"this must be a word, but {described(node)}", allowed)
        return None
    word = node.text
    if node.tag is not None and node.tag.startswith("!"):
        word = node.tag[1:] or "!"
        if not node.plain or node.text not in {"", "null", "Null", "NULL", "~"}:
            reader.error(node.position, path, f"nothing may stand behind the tag {quoted(node.tag)}", allowed)
            return None
    if word in QUEUE_POLICIES:
        return word
    if word == "lcfs":
        reader.refuse(node.position, path, "the router does not allow `lcfs` in a policy class", allowed)
    else:
        hint = closest(word, QUEUE_POLICIES)
        reader.error(node.position, path, f"{quoted(word)} is no queue policy", allowed, hint)
    return None


_TEXT = Field(FieldReader.text, required=False, nullable=True)
_WHOLE = Field(FieldReader.whole, required=False, nullable=True)
CLASS_FIELDS = {
    "name": Field(FieldReader.identifier),
    "policy_family": Field(FieldReader.identifier, required=False, nullable=True),
    "cache_bucket": _TEXT,
    "queue_policy": Field(_queue_policy, required=False),
    "quantum": Field(FieldReader.positive),
    "prefill_busy_threshold": _WHOLE,
    "prefill_busy_threshold_frac": Field(FieldReader.fraction, required=False, nullable=True),
    "busy_worker_ratio": Field(FieldReader.share, required=False, nullable=True, newer=True),
    "request_queue_limit_per_worker": _WHOLE,
    "raw_isl_token_queue_limit_per_worker": _WHOLE,
    "cached_token_queue_limit_per_worker": _WHOLE,
}
BUCKET_FIELDS = {"min_tokens": Field(FieldReader.whole), "bucket": Field(FieldReader.identifier)}


def _structs(
    reader: FieldReader, node: Node, path: str, what: str, item: tuple[str, Mapping[str, Field]]
) -> list[Given | None] | None:
    items = reader.items(node, path, what)
    if items is None:
        return None
    found = []
    for index, each in enumerate(items):
        reader.positions[f"{path}[{index}]"] = each.position
        found.append(reader.struct(each, f"{path}[{index}]", item[1], item[0]))
    return found


def _buckets(reader: FieldReader, node: Node, path: str) -> list[Given | None] | None:
    return _structs(reader, node, path, "the list of cache buckets", ("a cache bucket", BUCKET_FIELDS))


def _classes(reader: FieldReader, node: Node, path: str) -> list[Given | None] | None:
    return _structs(reader, node, path, "the list of policy classes", ("a policy class", CLASS_FIELDS))


PROFILE_FIELDS = {
    "default_policy_family": Field(FieldReader.text),
    "uncached_isl_buckets": Field(_buckets),
    "policy_classes": Field(_classes),
}


def resolve_profile(reader: FieldReader, given: Given) -> Profile | None:
    """The profile that ``given`` describes, or None after at least one error."""
    before = _error_count(reader)
    buckets = _resolve_buckets(reader, given)
    classes = _resolve_classes(reader, given, buckets)
    if classes is not None:
        _check_families(reader, given, classes, buckets)
    if _error_count(reader) > before or given.broken or buckets is None or classes is None:
        return None
    if any(each.broken for each in classes):
        return None
    return Profile(
        given.values["default_policy_family"],
        tuple(CacheBucket(**_bucket_values(each)) for each in buckets),
        tuple(PolicyClass(**each.values) for each in classes),
    )


def _bucket_values(given: Given) -> dict[str, Any]:
    return {"min_tokens": given.values["min_tokens"], "name": given.values["bucket"]}


def _error_count(reader: FieldReader) -> int:
    return sum(each.severity == "error" for each in reader.diagnostics)


def _at(reader: FieldReader, given: Given, key: str) -> Position:
    return reader.positions.get(f"{given.path}.{key}" if given.path else key, given.position)


def _readable(reader: FieldReader, given: Given, key: str, what: str) -> list[Given] | None:
    """The list under ``key``; None where it, or any of its items, is no mapping."""
    path = f"{given.path}.{key}" if given.path else key
    items: list[Given | None] | None = given.values.get(key)
    if items is None:
        return None
    if not items:
        reader.refuse(_at(reader, given, key), path, f"there is no {what}", f"at least one {what}")
        return None
    return None if any(each is None for each in items) else [each for each in items if each is not None]


def _resolve_buckets(reader: FieldReader, given: Given) -> list[Given] | None:
    """The buckets in file order once floors and names are checked; None where any of them is unreadable."""
    buckets = _readable(reader, given, "uncached_isl_buckets", "cache bucket")
    if buckets is None:
        return None
    _check_unique(reader, buckets, "bucket", "cache bucket")
    previous: int | None = None
    for each in buckets:
        floor: int | None = each.values.get("min_tokens")
        path = f"{each.path}.min_tokens"
        if each is buckets[0] and floor:
            message = f"the first bucket starts at {floor:,} tokens, so smaller requests have none"
            reader.refuse(_at(reader, each, "min_tokens"), path, message, "0 in the first bucket", "0")
        elif floor is not None and previous is not None and floor <= previous:
            message = f"{floor:,} is not above {previous:,}, the floor of the bucket before"
            reader.refuse(_at(reader, each, "min_tokens"), path, message, "floors that rise from bucket to bucket")
        previous = floor if floor is not None else previous
    return None if any(each.broken for each in buckets) else buckets


def _check_unique(reader: FieldReader, items: list[Given], key: str, what: str) -> None:
    first_line: dict[str, int] = {}
    for each in items:
        name = each.values.get(key)
        if name is None:
            continue
        line = _at(reader, each, key).line
        if name in first_line:
            message = f"there is another {what} {quoted(name)} on line {first_line[name]}"
            reader.refuse(_at(reader, each, key), f"{each.path}.{key}", message, f"each {what} name once")
        first_line.setdefault(name, line)


def _resolve_classes(reader: FieldReader, given: Given, buckets: list[Given] | None) -> list[Given] | None:
    """The classes in file order once each one is checked by itself and against the buckets."""
    classes = _readable(reader, given, "policy_classes", "policy class")
    if classes is None:
        return None
    _check_unique(reader, classes, "name", "policy class")
    bucket_names = None if buckets is None else dict.fromkeys(each.values["bucket"] for each in buckets)
    for each in classes:
        _check_binding(reader, each, bucket_names)
        _check_ratio(reader, each)
    return classes


def _check_binding(reader: FieldReader, each: Given, bucket_names: Mapping[str, None] | None) -> None:
    """A class has a family and a bucket, or neither."""
    bound = [key in each.values or key in each.broken for key in ("policy_family", "cache_bucket")]
    name = quoted(each.values.get("name", ""))
    if bound[0] != bound[1]:
        has, lacks = ("policy_family", "cache_bucket") if bound[0] else ("cache_bucket", "policy_family")
        message = f"policy class {name} has a `{has}` but no `{lacks}`"
        reader.refuse(each.position, each.path, message, "both of them, or neither for an explicit class")
        each.broken.add(lacks)
    bucket = each.values.get("cache_bucket")
    if bucket is not None and bucket_names is not None and bucket not in bucket_names:
        message = f"{quoted(bucket)} is no cache bucket of this profile"
        at = _at(reader, each, "cache_bucket")
        hint = closest(bucket, bucket_names)
        reader.refuse(at, f"{each.path}.cache_bucket", message, code_list(bucket_names), hint)
        each.broken.add("cache_bucket")


def _check_ratio(reader: FieldReader, each: Given) -> None:
    """A share of busy workers means something only where workers can be busy."""
    thresholds = {"prefill_busy_threshold", "prefill_busy_threshold_frac"}
    if "busy_worker_ratio" in each.values and not thresholds & (each.values.keys() | each.broken):
        at, path = _at(reader, each, "busy_worker_ratio"), f"{each.path}.busy_worker_ratio"
        message = "no worker is ever busy for a class without a busy threshold"
        reader.refuse(at, path, message, f"{code_list(sorted(thresholds))} beside it")


def _check_families(reader: FieldReader, given: Given, classes: list[Given], buckets: list[Given] | None) -> None:
    """Every family has one class per bucket, explicit classes stay clear of families, the default family exists."""
    families: dict[str, Given] = {}
    pairs: dict[tuple[str, str], int] = {}
    certain = buckets is not None
    for each in classes:
        certain = certain and not each.broken & {"policy_family", "cache_bucket"}
        family, bucket = each.values.get("policy_family"), each.values.get("cache_bucket")
        if family is None:
            continue
        families.setdefault(family, each)
        if bucket is not None and (family, bucket) in pairs:
            message = f"family {quoted(family)} has a class for bucket {quoted(bucket)} on line {pairs[family, bucket]}"
            reader.refuse(each.position, each.path, message, "one class for each family and bucket")
        pairs.setdefault((family, bucket or ""), each.position.line)
    if certain:
        _check_complete(reader, families, pairs, [bucket.values["bucket"] for bucket in buckets or ()])
    _check_explicit(reader, classes, families)
    _check_default(reader, given, list(families), certain)


def _check_complete(
    reader: FieldReader, families: Mapping[str, Given], pairs: Mapping[tuple[str, str], int], bucket_names: list[str]
) -> None:
    have = Counter(family for family, _ in pairs)
    for family, each in families.items():
        if have[family] < len(bucket_names):
            missing = [name for name in bucket_names if (family, name) not in pairs]
            message = f"family {quoted(family)} has no class for bucket {code_list(missing)}"
            at = _at(reader, each, "policy_family")
            reader.refuse(at, f"{each.path}.policy_family", message, "one class for each family and bucket")


def _check_explicit(reader: FieldReader, classes: list[Given], families: Mapping[str, Given]) -> None:
    for each in classes:
        name = each.values.get("name", "")
        bound = {"policy_family", "cache_bucket"} & (each.values.keys() | each.broken)
        if name in families and not bound:
            message = f"the explicit class {quoted(name)} has the name of a policy family"
            at = _at(reader, each, "name")
            reader.refuse(at, f"{each.path}.name", message, "another name, or a `policy_family` and a `cache_bucket`")


def _check_default(reader: FieldReader, given: Given, families: list[str], certain: bool) -> None:
    default = given.values.get("default_policy_family")
    if default is None or default in families:
        return
    at, path = _at(reader, given, "default_policy_family"), "default_policy_family"
    path = f"{given.path}.{path}" if given.path else path
    if not IDENTIFIER.fullmatch(default):
        reader.refuse(at, path, f"{quoted(default)} cannot be the name of a family", IDENTIFIER_CHARACTERS)
    elif certain:
        allowed = code_list(families) or "a family that at least one policy class belongs to"
        message = f"no policy class belongs to the family {quoted(default)}"
        reader.refuse(at, path, message, allowed, closest(default, families))
