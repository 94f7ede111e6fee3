"""The nodes of a policy text with the exact place of every one of them, aliases and anchors kept apart.

:mod:`drr.policy.yaml12` says what a text means; this says where each character of it belongs, for edits that leave
everything else as it is. Places are indexes into the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from drr.policy import yaml12
from drr.policy.yaml_events import parser_events

_PROPERTY = re.compile(r"([&!])[^\s,\[\]{}]*\s*")
_UNSAFE_IN_FLOW = re.compile(r"[,\[\]{}\r\n#]|: ")


@dataclass(slots=True, eq=False)
class SourceNode:
    """One occurrence of a value. ``start`` is where its anchor or tag begins; of an alias, ``target`` is the node it
    names. ``pairs`` belong to mappings, ``items`` to lists, ``value`` and ``quote`` (one of ``"'|>`` or "") to scalars.
    """

    kind: str  # "scalar", "alias", "mapping" or "list"
    start: int
    end: int
    anchor: str | None = None
    in_flow: bool = False
    value: str = ""
    quote: str = ""
    target: SourceNode | None = None
    items: list[SourceNode] = field(default_factory=list)
    pairs: list[tuple[SourceNode, SourceNode]] = field(default_factory=list)

    @property
    def meant(self) -> SourceNode:
        """The node itself, or what the alias stands for."""
        return self if self.target is None else self.target

    def children(self) -> Iterator[SourceNode]:
        """Keys, values and items in text order."""
        for key, value in self.pairs:
            yield key
            yield value
        yield from self.items


def source_tree(text: str) -> SourceNode | None:
    """The root of the one document in ``text``, which must not start with a byte-order mark.

    Raises :class:`~drr.policy.yaml_events.YamlSyntaxError` as reading the text does.
    """
    yaml12.compose(text)  # one document, no endless aliases, not too deep
    anchors: dict[str, SourceNode] = {}
    root = SourceNode("list", 0, 0)
    open_nodes: list[SourceNode] = [root]
    waiting_keys: list[SourceNode | None] = [None]
    for event in parser_events(text):
        if isinstance(event, yaml.CollectionEndEvent):
            waiting_keys.pop()
            done = open_nodes.pop()
            done.end = _span(event)[1] if done.in_flow else max(each.end for each in done.children())
            continue
        node = _node(event, anchors)
        if node is None:
            continue
        if node.anchor is not None:
            anchors[node.anchor] = node
        parent = open_nodes[-1]
        if parent.kind == "list":
            parent.items.append(node)
        elif (key := waiting_keys[-1]) is None:
            waiting_keys[-1] = node
        else:
            parent.pairs.append((key, node))
            waiting_keys[-1] = None
        if node.kind in {"mapping", "list"}:
            open_nodes.append(node)
            waiting_keys.append(None)
    return root.items[0] if root.items else None


def _span(event: Any) -> tuple[int, int]:
    return event.start_mark.index, event.end_mark.index


def _node(event: Any, anchors: dict[str, SourceNode]) -> SourceNode | None:
    start, end = _span(event)
    if isinstance(event, yaml.AliasEvent):
        return SourceNode("alias", start, end, target=anchors[str(event.anchor)])
    if isinstance(event, yaml.ScalarEvent):
        return SourceNode("scalar", start, end, event.anchor, value=event.value, quote=event.style or "")
    if isinstance(event, yaml.CollectionStartEvent):
        kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
        return SourceNode(kind, start, end, event.anchor, bool(event.flow_style))
    return None


def every_node(root: SourceNode) -> Iterator[SourceNode]:
    """All nodes in text order, aliases not entered."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(list(node.children()))


def _without_anchor(text: str, node: SourceNode) -> str:
    """The written form of a scalar, its tag included."""
    rest, tag = text[node.start : node.end], ""
    while match := _PROPERTY.match(rest):
        tag += match[0].rstrip() + " " if match[1] == "!" else ""
        rest = rest[match.end() :]
    return tag + rest


def flow_copy(text: str, node: SourceNode) -> str:
    """The value of ``node`` on one line, in brackets where it is a collection, free of anchors and aliases."""
    node = node.meant
    if node.kind == "mapping":
        return "{" + ", ".join(f"{_key(text, key)}: {flow_copy(text, value)}" for key, value in node.pairs) + "}"
    if node.kind == "list":
        return "[" + ", ".join(flow_copy(text, item) for item in node.items) + "]"
    written = _without_anchor(text, node)
    if not node.value and not node.quote and not written.strip():
        return "null"
    if node.quote in {'"', "'"} and not re.search(r"[\r\n]", written):
        return written
    if not node.quote and not _UNSAFE_IN_FLOW.search(written):
        return written
    return json.dumps(node.value, ensure_ascii=False)


def _key(text: str, key: SourceNode) -> str:
    written = flow_copy(text, key)
    return written if key.meant.kind == "scalar" else f"? {written} "
