"""The sections a policy file may carry beside its profiles: checked as the router checks them, kept, not simulated."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any

from drr.policy import scalars, yaml12
from drr.policy.diagnostics import joined, quoted
from drr.policy.fields import TAG_PREFIX, Field, FieldReader, closest, code_list
from drr.policy.yaml12 import Node, Scalar

STAGES = ("aggregated", "prefill", "decode", "encode")
BUILT_IN = "default"

_FLAGS = (
    "enable_session_prefix_index",
    "router_assume_kv_reuse",
    "router_replica_sync",
    "router_track_active_blocks",
    "router_track_output_blocks",
    "router_track_prefill_tokens",
    "serve_indexer",
    "use_kv_events",
    "use_remote_indexer",
)
_NUMBERS = (
    "disk_cache_hit_weight",
    "host_cache_hit_weight",
    "router_event_threads",
    "router_predicted_ttl_secs",
    "router_ttl_secs",
)
_WORDS = (
    "router_approximate_cache_policy",
    "router_prefill_load_model",
    "router_tracking_hash",
    "router_tracking_key_file",
    "router_tracking_key_id",
    "shared_cache_type",
)
ROUTER_SETTINGS: dict[str, tuple[type | UnionType, str]] = {
    **dict.fromkeys(_FLAGS, (bool, "`true` or `false`")),
    **dict.fromkeys(_NUMBERS, (int | float, "a number")),
    **dict.fromkeys(_WORDS, (str | dict, "a word")),
}
"""The settings that release 1.6.1 of the router knows in its ``router`` section, and roughly what each one takes."""

_CORE_TYPES: dict[str, tuple[Callable[[str], Any], str]] = {
    TAG_PREFIX + "bool": (scalars.BOOLEANS.get, "`true` or `false`"),
    TAG_PREFIX + "int": (scalars.whole_number, "a whole number"),
    TAG_PREFIX + "float": (scalars.decimal_number, "a number"),
}


def plain_data(reader: FieldReader, node: Node, path: str) -> Any:
    """What a node means where any value may stand, as None, bool, int, float, str, list or dict.

    A list or mapping that is a key becomes a tuple. Duplicate keys are errors.
    """
    if isinstance(node, Scalar):
        return _scalar_data(reader, node, path)
    if isinstance(node, yaml12.Sequence):
        return [plain_data(reader, item, f"{path}[{index}]") for index, item in enumerate(node.items)]
    data: dict[Any, Any] = {}
    first_line: dict[str, int] = {}  # by the key's repr, which keeps 1, 1.0 and true apart
    for key_node, value_node in node.pairs:
        key = _hashable(plain_data(reader, key_node, path))
        inner = joined(path, key_node.text if isinstance(key_node, Scalar) else "?")
        line = key_node.position.line
        if repr(key) in first_line:
            message = f"this key is given twice: on line {first_line[repr(key)]} and on line {line}"
            reader.error(key_node.position, inner, message, "each key once")
        first_line.setdefault(repr(key), line)
        data[key] = plain_data(reader, value_node, inner)
    return data


def _hashable(key: Any) -> Any:
    if isinstance(key, list):
        return tuple(_hashable(item) for item in key)
    if isinstance(key, dict):
        return tuple((_hashable(name), _hashable(value)) for name, value in key.items())
    return key


def _scalar_data(reader: FieldReader, node: Scalar, path: str) -> Any:
    tag = node.tag or ""
    if tag == TAG_PREFIX + "null":
        if node.text not in scalars.NULL_WORDS:
            reader.error(node.position, path, f"{quoted(node.text)} is tagged as null", "`null` or `~`")
        return None
    if tag in _CORE_TYPES:
        read, allowed = _CORE_TYPES[tag]
        value = read(node.text)
        if value is None:
            reader.error(node.position, path, f"{quoted(node.text)} does not fit its tag", allowed)
    elif node.plain and (not tag or tag.startswith("!")):
        value = scalars.plain_value(node.text)
    else:
        return node.text
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        reader.error(node.position, path, f"{quoted(node.text)} does not fit into 64 bits", "a smaller number")
    return value


def router_section(reader: FieldReader, node: Node, path: str) -> dict[str, Any] | None:
    """The ``router`` section: settings by name, the last of a repeated name counts.

    What release 1.6.1 would refuse in it is a warning: nothing of it is simulated, and newer releases know more.
    """
    pairs = reader.pairs(node, path, "the router section")
    if pairs is None:
        return None
    settings: dict[str, Any] = {}
    for key, value in pairs:
        inner = joined(path, key.text)
        if key.text in settings:
            reader.note("warning", key.position, inner, "this setting is given twice; the last one counts")
        settings[key.text] = plain_data(reader, value, inner)
        reader.positions[inner] = value.position
    for name, setting in settings.items():
        _check_setting(reader, name, setting, path)
    return settings


def _check_setting(reader: FieldReader, name: str, setting: Any, path: str) -> None:
    inner = joined(path, name)
    at = reader.positions[inner]
    if name not in ROUTER_SETTINGS:
        message = f"the router of release 1.6.1 does not know the setting {quoted(name)} and refuses the file"
        hint = closest(name, ROUTER_SETTINGS)
        reader.note("warning", at, inner, message, suggestion=hint, router_refuses=True)
        return
    kind, allowed = ROUTER_SETTINGS[name]
    if not isinstance(setting, kind) or (isinstance(setting, bool) and kind is not bool):
        message = "the router of release 1.6.1 does not take this value and refuses the file"
        reader.note("warning", at, inner, message, allowed=allowed, router_refuses=True)


def _parameters(reader: FieldReader, node: Node, path: str) -> dict[Any, Any] | None:
    tagged = node.tag is not None and node.tag.startswith("!")
    data = plain_data(reader, node, path)
    if isinstance(data, dict) and not tagged:
        return data
    reader.error(node.position, path, "the parameters must be a mapping without a tag", "`key: value` lines")
    return None


_PARAMETERS = Field(_parameters, required=False)
_INSTANCE_FIELDS = {
    "name": Field(FieldReader.identifier),
    "type": Field(FieldReader.identifier),
    "parameters": _PARAMETERS,
}


def _instances(reader: FieldReader, node: Node, path: str) -> list[dict[str, Any]] | None:
    nodes = reader.items(node, path, "the list of instances")
    if nodes is None:
        return None
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    for index, each in enumerate(nodes):
        given = reader.struct(each, f"{path}[{index}]", _INSTANCE_FIELDS, "an instance")
        if given is None:
            continue
        found.append(given.values)
        name = given.values.get("name")
        if name == BUILT_IN:
            reader.error(
                each.position, given.path, f"the name `{BUILT_IN}` belongs to the built-in selection", "another name"
            )
        elif name in names:
            reader.error(each.position, given.path, f"there is another instance {quoted(name)}", "each name once")
        if name is not None:
            names.add(name)
    return found


_SELECTION_FIELDS = {
    **{stage: Field(FieldReader.text, required=False, nullable=True) for stage in STAGES},
    "instances": Field(_instances, required=False),
}
_CLASSIFIER_FIELDS = {"type": Field(FieldReader.identifier), "parameters": _PARAMETERS}


def worker_selection_section(reader: FieldReader, node: Node, path: str) -> dict[str, Any] | None:
    """The ``worker_selection`` section: at least an instance, or a selection for one of the stages."""
    given = reader.struct(node, path, _SELECTION_FIELDS, "the worker selection")
    if given is None:
        return None
    values = given.values
    if not given.broken and not values.get("instances") and not any(stage in values for stage in STAGES):
        reader.error(node.position, path, "the worker selection selects nothing", code_list(_SELECTION_FIELDS))
    if "instances" not in given.broken:
        known = [BUILT_IN, *(each["name"] for each in values.get("instances", ()) if "name" in each)]
        for stage in STAGES:
            if stage in values and values[stage] not in known:
                at, inner = reader.positions[f"{path}.{stage}"], f"{path}.{stage}"
                message = f"there is no instance {quoted(values[stage])}"
                reader.error(at, inner, message, code_list(known), closest(values[stage], known))
    return values


def request_classifier_section(reader: FieldReader, node: Node, path: str) -> dict[str, Any] | None:
    """The ``request_classifier`` section: a type, and parameters for it."""
    given = reader.struct(node, path, _CLASSIFIER_FIELDS, "the request classifier")
    if given is None:
        return None
    if given.values.get("type") == BUILT_IN:
        message = f"the type `{BUILT_IN}` is reserved"
        reader.error(reader.positions[f"{path}.type"], f"{path}.type", message, "leave the section out instead")
    return given.values


SECTION_FIELDS = {
    "router": Field(router_section, required=False, nullable=True),
    "worker_selection": Field(worker_selection_section, required=False, nullable=True),
    "request_classifier": Field(request_classifier_section, required=False, nullable=True),
}
