"""Reading one YAML document into nodes that know where they stand in the text.

Nothing is resolved or converted here: a scalar keeps its written form, and what it means is asked of
:mod:`drr.policy.scalars` by the field that reads it. Aliases become the very node they name. Size, depth and the
nodes that aliases add are bounded, so any text is answered in a moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any

import yaml

from drr.policy.diagnostics import Position
from drr.policy.yaml_events import YamlSyntaxError, parser_events

MAX_DEPTH = 128
"""Lists and mappings within each other; the router's parser has the same bound."""
MAX_NODES = 120_000
"""Values in one file; a thousand classes with every key have some 23,000 of them."""
MAX_ALIASED_NODES = 100_000
"""How many nodes all aliases together may stand for."""


@dataclass(slots=True, eq=False)
class Scalar:
    """A value that is no collection, as written, without quotes; ``plain`` means unquoted on its line."""

    position: Position
    tag: str | None
    text: str
    plain: bool
    literal: bool
    height: int = 0
    size: int = 1


@dataclass(slots=True, eq=False)
class Sequence:
    """A list. ``height`` counts the collections below and with it, ``size`` the nodes with aliases expanded."""

    position: Position
    tag: str | None
    items: list[Node] = field(default_factory=list)
    height: int = 1
    size: int = 1


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping as pairs in file order; keys may be any node and may repeat."""

    position: Position
    tag: str | None
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    height: int = 1
    size: int = 1


Node = Scalar | Sequence | Mapping


def compose(text: str, *, pure: bool = False) -> Node | None:
    """The root node of the one document in ``text``; None where there is no document at all.

    Raises :class:`YamlSyntaxError` for anything that is not exactly one well-formed document within bounds.
    """
    composer = _Composer()
    for event in parser_events(text, pure=pure):
        composer.take(event)
    return composer.root


class _Composer:
    """Builds the tree event by event on a stack of its own, so depth costs no recursion."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.open: list[Sequence | Mapping] = []
        self.keys: list[Node | None] = []  # per open collection: the key that waits for its value
        self.anchors: dict[str, Node] = {}
        self.nodes = 0
        self.aliased_nodes = 0
        self.documents = 0

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            scalar = Scalar(_span(event), event.tag, event.value, plain, event.style == "|")
            if event.anchor is not None:
                self.anchors[event.anchor] = scalar
            self.add(scalar, event)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            start: Sequence | Mapping = (Sequence if isinstance(event, yaml.SequenceStartEvent) else Mapping)(
                _span(event), event.tag
            )
            if len(self.open) >= MAX_DEPTH:
                raise _too_deep(start.position)
            if event.anchor is not None:
                self.anchors[event.anchor] = start
            self.open.append(start)
            self.keys.append(None)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.keys.pop()
            done = self.open.pop()
            self.add(done, event)
        elif isinstance(event, yaml.AliasEvent):
            self.add(self.named(event), event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.start_document(event)

    def start_document(self, event: Any) -> None:
        position = _span(event)
        self.documents += 1
        if self.documents > 1:
            message = "a second document starts here, and the router takes only one"
            raise YamlSyntaxError(position.line, position.column, message, "one document per file, without more `---`")

    def add(self, node: Node, event: Any) -> None:
        """Put a finished node into the innermost open collection."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            at = _span(event)
            message = f"there are more than {MAX_NODES:,} values in this file"
            raise YamlSyntaxError(at.line, at.column, message, f"at most {MAX_NODES:,} values")
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        parent.height = max(parent.height, node.height + 1)
        parent.size += node.size
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif (key := self.keys[-1]) is None:
            self.keys[-1] = node
        else:
            parent.pairs.append((key, node))
            self.keys[-1] = None

    def named(self, event: Any) -> Node:
        """The node an alias stands for."""
        at = _span(event)
        name = event.anchor if len(event.anchor) <= 60 else event.anchor[:59] + "…"
        node = self.anchors.get(event.anchor)
        if node is None:
            close = get_close_matches(name, islice(self.anchors, 100), 1)
            message, hint = f"no anchor `&{name}` stands before this alias", f"*{close[0]}" if close else None
            raise YamlSyntaxError(at.line, at.column, message, "an alias after its anchor", hint)
        if any(node is parent for parent in self.open):
            message = f"the alias `*{name}` stands inside what it names"
            raise YamlSyntaxError(at.line, at.column, message, "an alias after the whole value it names")
        if len(self.open) + node.height > MAX_DEPTH:
            raise _too_deep(at)
        self.aliased_nodes += node.size
        if self.aliased_nodes > MAX_ALIASED_NODES:
            message = f"the aliases of this file stand for more than {MAX_ALIASED_NODES:,} values"
            raise YamlSyntaxError(at.line, at.column, message, "fewer aliases, or aliases of smaller values")
        return node


def _span(event: Any) -> Position:
    start, end = event.start_mark, event.end_mark
    return Position(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _too_deep(at: Position) -> YamlSyntaxError:
    message = f"values are nested more than {MAX_DEPTH} levels deep"
    return YamlSyntaxError(at.line, at.column, message, f"at most {MAX_DEPTH} levels")
