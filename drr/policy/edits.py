"""Changing one value in a policy text and leaving every other character as it is: comments, layout, quotes, line ends.

Where a value is shared through an anchor and its aliases, only the occurrence asked for changes: the anchor moves on
to the first alias, or an alias of a whole list or mapping is written out (on one line) before the change.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from drr.errors import PolicyError
from drr.policy import scalars
from drr.policy.diagnostics import joined, quoted
from drr.policy.schema import MAX_UNSIGNED
from drr.policy.source_text import readable_text
from drr.policy.source_tree import SourceNode, every_node, flow_copy, source_tree
from drr.policy.writing import is_plain_text
from drr.policy.yaml_events import YamlSyntaxError

Value = int | float | str

_BOM = "\ufeff"
_BREAK = re.compile(r"\r\n|\r|\n")
_COLON = re.compile(r"[ \t]*:")


def set_value(text: str, path: str, value: Value | None) -> str:
    """``text`` with the number or name at ``path`` (as in ``policy_classes[0].quantum``) replaced by ``value``.

    A key that is absent is added at the end of its mapping, in the mapping's own style; None takes the key out, with
    the rest of its line. Only scalars can be set. Raises :class:`PolicyError` where the text is no YAML, where nothing
    at ``path`` can hold the value, or where the value is no finite number or text.
    """
    clean = text.lstrip(_BOM)
    while (step := _next_step(clean, path, value)).more:
        clean = step.text
    return text[: len(text) - len(text.lstrip(_BOM))] + step.text


def scale_quanta(text: str, factors: float | Fraction | Mapping[str, float | Fraction], *, profile: str = "") -> str:
    """``text`` with the quanta of one profile multiplied, each rounded to a whole number of tokens from 1 up.

    ``factors`` is one factor for all classes or a factor by class name (others stay). ``profile`` is the path of a
    model's profile, such as ``models.my-model``; the root profile without it. Use a :class:`~fractions.Fraction` for
    ratios that must come out exact.
    """
    base = joined_path(profile, "policy_classes")
    clean = text.lstrip(_BOM)
    chain = _descend(_tree(clean), base)
    classes = chain[-1].meant.items if chain else []
    for index, each in enumerate(classes):
        written = {key.meant.value: value.meant for key, value in each.meant.pairs}
        if "quantum" not in written or "name" not in written:
            continue
        factor = factors.get(written["name"].value) if isinstance(factors, Mapping) else factors
        quantum = scalars.whole_number(written["quantum"].value)
        if factor is not None and quantum is not None:
            scaled = min(max(round(quantum * Fraction(factor)), 1), MAX_UNSIGNED)
            if scaled != quantum:
                text = set_value(text, f"{base}[{index}].quantum", scaled)
    return text


def joined_path(path: str, key: str) -> str:
    """``key`` inside of the mapping at ``path``, "" being the whole file."""
    return f"{path}.{key}" if path else key


class _Step(NamedTuple):
    """A text on the way to the edited one; ``more`` while something shared had to be taken apart first."""

    text: str
    more: bool


class _Change(NamedTuple):
    start: int
    end: int
    text: str


def _next_step(text: str, path: str, value: Value | None) -> _Step:
    root = _tree(text)
    chain = _descend(root, path)
    parent_path, _, key = path.rpartition(".")
    owners = chain[:-1] if chain else _descend(root, parent_path) if parent_path or key else []
    if not owners:
        raise PolicyError(f"the policy has nothing at `{parent_path or path}`")
    if apart := _taken_apart(text, root, owners):
        return _Step(_applied(text, apart), True)
    if not chain:
        return _Step(text if value is None else _applied(text, [_inserted(text, owners[-1], key, value)]), False)
    node = chain[-1]
    if value is None:
        changes = [_removed(text, owners[-1], node)]
    elif node.meant.kind != "scalar":
        raise PolicyError(f"`{path}` is a list or a mapping and cannot be replaced by one value")
    else:
        keeps_anchor = node.anchor is not None and _first_alias(root, node) is None
        changes = [_replaced(text, owners[-1], node, f"&{node.anchor} " if keeps_anchor else "", value)]
    for moved in every_node(node):
        alias = _first_alias(root, moved)
        if alias is not None and not node.start <= alias.start < node.end:
            changes.append(_Change(alias.start, alias.end, f"&{moved.anchor} {flow_copy(text, moved)}"))
    return _Step(_applied(text, changes), False)


def _tree(text: str) -> SourceNode:
    clean, notes = readable_text(text)
    try:
        root = None if clean is None else source_tree(clean)
    except YamlSyntaxError as error:
        message = f"line {error.line}, column {error.column}: {error.message}"
        raise PolicyError(f"the text cannot be edited as long as it is no YAML: {message}") from None
    if root is None:
        raise PolicyError(notes[-1].text() if notes else "the text is empty")
    return root


def _applied(text: str, changes: list[_Change]) -> str:
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text


# Finding the place


def _descend(root: SourceNode, path: str) -> list[SourceNode]:
    """The nodes from the root to the one at ``path``; empty where there is none.

    A model name may itself look like a path, so of two keys that fit the longer one is meant.
    """
    chain, here = [root], ""
    while here != path:
        node = chain[-1].meant
        steps = [(f"{here}[{index}]", item) for index, item in enumerate(node.items)]
        steps += [(joined(here, key.meant.value), inner) for key, inner in node.pairs if key.meant.kind == "scalar"]
        fitting = [step for step in steps if path == step[0] or path.startswith((f"{step[0]}.", f"{step[0]}["))]
        if not fitting:
            return []
        here, inner = max(reversed(fitting), key=lambda step: len(step[0]))  # of a repeated name the last one counts
        chain.append(inner)
    return chain


def _first_alias(root: SourceNode, node: SourceNode) -> SourceNode | None:
    return next((each for each in every_node(root) if each.target is node), None) if node.anchor else None


def _taken_apart(text: str, root: SourceNode, owners: list[SourceNode]) -> list[_Change]:
    """What makes the first list or mapping on the way that is shared belong to this place alone."""
    for node in owners:
        if node.target is not None:
            return [_Change(node.start, node.end, flow_copy(text, node))]
        alias = _first_alias(root, node)
        if alias is not None:
            token = re.compile(rf"&{re.escape(node.anchor or '')}[ \t]*").search(text, node.start)
            assert token is not None
            moved = f"&{node.anchor} {flow_copy(text, node)}"
            return [_Change(token.start(), token.end(), ""), _Change(alias.start, alias.end, moved)]
    return []


# Changing it


def _written(value: Value, quote: str = "") -> str:
    """A value as it stands in the text, in the quotes the old one had where it is text."""
    if isinstance(value, str):
        if quote == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        return value if quote != '"' and is_plain_text(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) or not math.isfinite(value):
        raise PolicyError(f"{value} is no number a policy can hold")
    return repr(value) if isinstance(value, float) else str(value)


def _replaced(text: str, owner: SourceNode, node: SourceNode, anchor: str, value: Value) -> _Change:
    written = _written(value, node.quote)
    old = text[node.start : node.end]
    if old and node.kind == "scalar":
        # A block scalar (`|` or `>`) includes its line end, and perhaps empty lines.
        tail = old[len(old.rstrip()) :] if node.quote in {"|", ">"} else ""
        return _Change(node.start, node.end, anchor + written + tail)
    if old:
        return _Change(node.start, node.end, written)
    key = next((key for key, inner in owner.pairs if inner is node), None)
    colon = key is None or ":" in text[key.end : node.start]
    if not colon and not owner.in_flow:
        raise PolicyError("a key without a colon has no place for a value; write `key: value` first")
    lead = "" if text[node.start - 1].isspace() else " "
    trail = "" if not text[node.end : node.end + 1].strip(" \t\r\n,]}") else " "
    return _Change(node.start, node.end, f"{lead if colon else ': '}{written}{trail}")


def _inserted(text: str, owner: SourceNode, key: str, value: Value) -> _Change:
    """A new last pair of a mapping."""
    if owner.kind != "mapping":
        raise PolicyError(f"`{key}` can be added to a mapping only")
    pair = f"{key}: {_written(value)}"
    if owner.in_flow:
        if not owner.pairs:
            return _Change(owner.end - 1, owner.end - 1, pair)
        last = owner.pairs[-1][1]
        comma = "," if last.end > last.start or text[last.end - 1].isspace() else " ,"
        return _Change(last.end, last.end, f"{comma} {pair}")
    first = _start_of_key(text, owner, 0)
    newline = (_BREAK.search(text) or ["\n"])[0]
    indent = " " * (first - _line_start(text, first))
    for _, last in reversed(owner.pairs):
        if last.in_flow or (last.kind in {"scalar", "alias"} and last.quote not in {"|", ">"}):
            line_end = _BREAK.search(text, last.end)
            if line_end is None:
                return _Change(len(text), len(text), newline + indent + pair)
            return _Change(line_end.end(), line_end.end(), indent + pair + newline)
    return _Change(first, first, pair + newline + indent)


def _removed(text: str, owner: SourceNode, node: SourceNode) -> _Change:
    """A pair of a mapping away, with its comma or the rest of its line."""
    index = next((index for index, (_, inner) in enumerate(owner.pairs) if inner is node), None)
    if index is None:
        raise PolicyError("only the key of a mapping can be taken out")
    start, end = _start_of_key(text, owner, index), max(node.end, owner.pairs[index][0].end)
    if owner.in_flow:
        return _removed_in_flow(text, owner, index)
    if len(owner.pairs) == 1:
        return _Change(start, end, "{}")
    line_start = _line_start(text, start)
    if text[line_start:start].strip(" "):  # behind the dash of a list item, which stays
        following = owner.pairs[index + 1][0].start
        return _Change(start, end if text[end:following].strip() else following, "")
    line_end = _BREAK.search(text, end - 1 if text[end - 1] == "\n" else end)
    return _Change(line_start, len(text) if line_end is None else line_end.end(), "")


def _removed_in_flow(text: str, owner: SourceNode, index: int) -> _Change:
    start = owner.pairs[index][0].start
    end = max(owner.pairs[index][1].end, owner.pairs[index][0].end)
    before = owner.pairs[index - 1][1].end if index else None
    comma = re.compile(r"\s*,[ \t]*").match(text, end)
    if comma is not None and (before is None or index + 1 < len(owner.pairs)):
        return _Change(start, comma.end(), "")
    if before is not None and not text[before:start].strip(", \t\r\n"):
        return _Change(before, end, "")
    return _Change(start, end, "")  # a comment stands before it; the comma there may stay


def _start_of_key(text: str, owner: SourceNode, index: int) -> int:
    """Where a pair starts. A key behind `?` is refused: the mark before it and the colon below it belong to it too."""
    key = owner.pairs[index][0]
    if owner.in_flow:
        before = text[owner.start : key.start].rstrip()
        behind_mark = before.endswith("?") and before[:-1].rstrip().endswith(("{", ","))
    else:
        behind_mark = _COLON.match(text, key.end) is None
    if behind_mark:
        written = text[key.start : key.end]
        raise PolicyError(f"the key {quoted(written)} stands behind `?`: write it as `key: value` first")
    return key.start


def _line_start(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
