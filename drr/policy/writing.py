"""Writing a policy back as YAML that reads as the same document, here and in the router."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from drr.policy.profiles import CLASS_FIELDS
from drr.policy.schema import PolicyClass, PolicyDocument, Profile
from drr.policy.sections import SECTION_FIELDS

# Words that some reader of YAML, new or old, takes for something else than text.
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONGEST_KEY = 500  # a parser gives up on a longer `key:` (1,024 characters); the `? key` form has no limit


def dump_policy(document: PolicyDocument) -> str:
    """The document in canonical YAML: every key in the order of the reference, nothing that is absent."""
    data: dict[str, Any] = {} if document.root is None else _profile_data(document.root)
    if document.models:
        data["models"] = {name: _profile_data(profile) for name, profile in document.models.items()}
    data.update({name: document.sections[name] for name in SECTION_FIELDS if name in document.sections})
    return "".join(f"{line}\n" for line in _lines(data))


def _profile_data(profile: Profile) -> dict[str, Any]:
    return {
        "default_policy_family": profile.default_policy_family,
        "uncached_isl_buckets": [{"min_tokens": each.min_tokens, "bucket": each.name} for each in profile.buckets],
        "policy_classes": [_class_data(each) for each in profile.classes],
    }


def _class_data(policy_class: PolicyClass) -> dict[str, Any]:
    values = ((key, getattr(policy_class, key)) for key in CLASS_FIELDS)
    return {key: value for key, value in values if value is not None}


def _lines(data: Mapping[Any, Any]) -> Iterator[str]:
    """Block lines of a mapping that is not empty."""
    for key, value in data.items():
        written = _flow(key)
        simple = not isinstance(key, tuple) and len(written) <= _LONGEST_KEY
        head = f"{written}:" if simple else ":"
        if not simple:
            yield f"? {written}"
        if not _is_block(value):
            yield f"{head} {_flow(value)}"
            continue
        yield head
        for line in _lines(value) if isinstance(value, dict) else _item_lines(value):
            yield f"  {line}"


def _item_lines(items: list[Any]) -> Iterator[str]:
    for item in items:
        if isinstance(item, dict) and item:
            for index, line in enumerate(_lines(item)):
                yield f"{'  ' if index else '- '}{line}"
        else:
            yield f"- {_flow(item)}"


def _is_block(value: Any) -> bool:
    """Whether a value is written on lines of its own: mappings, and lists with a mapping in them."""
    return bool(value) and (isinstance(value, dict) or (isinstance(value, list) and any(map(_is_mapping, value))))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _flow(value: Any) -> str:
    """A value within one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"? {_flow(key)} : {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ".nan" if value != value else f"{'-' * (value < 0)}.inf"
    return str(value) if isinstance(value, int) else _text(value)


def is_plain_text(text: str) -> bool:
    """Whether every reader of YAML takes ``text`` without quotes for this very text."""
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _NOT_TEXT


def _text(text: str) -> str:
    if is_plain_text(text) and len(text) <= _LONGEST_KEY:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
