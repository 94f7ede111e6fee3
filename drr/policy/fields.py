"""Reading typed fields out of nodes, collecting every problem on the way.

Two kinds of problems are told apart, as the router does: one that no parser gets past (:meth:`FieldReader.error`), and
a value that is well formed but not allowed (:meth:`FieldReader.refuse`). The second kind does not matter in a profile
that a later one of the same name replaces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any

from drr.policy import scalars, yaml12
from drr.policy.diagnostics import Diagnostic, Position, Severity, joined, quoted
from drr.policy.schema import MAX_UNSIGNED
from drr.policy.yaml12 import Node, Scalar

MAX_PROBLEMS = 100
"""Reading stops after so many errors, and so many warnings are kept: the rest would not be read by anybody."""

TAG_PREFIX = "tag:yaml.org,2002:"
IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]+")
IDENTIFIER_CHARACTERS = "letters, digits, `_`, `.` and `-`"

_SAME_THING = {"weight": "quantum", "policy_quantum": "quantum"}


class TooManyProblemsError(Exception):
    """Ends the reading; the diagnostics up to here are with the reader."""


def stopped_at(last: Diagnostic, what: str) -> Diagnostic:
    """The word about the errors that are not looked for, at the place of the last one that was found."""
    message = f"there are {MAX_PROBLEMS} errors up to here; the rest of the {what} was not looked at"
    return Diagnostic("error", last.line, last.column, "", message, "fewer errors")


@dataclass(frozen=True, slots=True)
class Field:
    """How one key of a mapping is read. ``nullable``: null counts as absent; otherwise null goes to ``read``.

    ``newer``: release 1.6.1 of the router does not know the key yet, and refuses a file that has it even with null.
    """

    read: Callable[[FieldReader, Node, str], Any]
    required: bool = True
    nullable: bool = False
    newer: bool = False


@dataclass(slots=True)
class Given:
    """What one mapping gives: the readable values by key, and the keys that are missing or unreadable."""

    position: Position
    path: str
    values: dict[str, Any] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word a misspelt one most likely means; only the first hundred words are looked at."""
    by_spelling = {name.lower().replace("-", "_"): name for name in islice(known, 100)}
    spelling = word[:100].lower().replace("-", "_").strip()
    spelling = _SAME_THING.get(spelling, spelling)
    found = get_close_matches(spelling, by_spelling, 1, 0.6)
    return by_spelling[found[0]] if found else None


def code_list(words: Iterable[str], limit: int = 12) -> str:
    """The words in backquotes with commas between them, cut after ``limit``."""
    names = list(words)
    shown = ", ".join(f"`{name}`" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit:,} more"


class FieldReader:
    """Reads nodes as the router's typed fields do; ``diagnostics`` and ``positions`` (by path) grow as it goes."""

    IS_TEXT = "is text to the router"
    NO_MERGE_KEYS = "the router reads YAML 1.2, which has no merge keys"

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        self.positions: dict[str, Position] = {}
        self.replaced = False  # while reading a profile that a later one of the same name replaces
        self._errors = 0
        self._warnings: list[Diagnostic] = []

    def note(self, severity: Severity, at: Position, path: str, message: str, **more: Any) -> None:
        """Add one finding; ``more`` are further fields of :class:`Diagnostic`."""
        self.add(Diagnostic(severity, at.line, at.column, path, message, **more))

    def add(self, found: Diagnostic) -> None:
        """Add one finding. Past the limit warnings are kept back, but for those of what the router refuses."""
        if found.severity == "warning" and not found.router_refuses:
            self._warnings.append(found)
            if len(self._warnings) > MAX_PROBLEMS:
                return
        self.diagnostics.append(found)
        self._errors += found.severity == "error"
        if self._errors >= MAX_PROBLEMS:
            raise TooManyProblemsError

    def finished(self) -> tuple[Diagnostic, ...]:
        """All findings in file order, with a word about what the limits keep from being said."""
        found = list(self.diagnostics)
        if self._errors >= MAX_PROBLEMS:
            found.append(stopped_at(found[-1], "file"))
        if kept_back := self._warnings[MAX_PROBLEMS:]:
            count = "1 more warning is" if len(kept_back) == 1 else f"{len(kept_back):,} more warnings are"
            found.append(Diagnostic("info", kept_back[0].line, kept_back[0].column, "", f"{count} not listed"))
        return tuple(sorted(found, key=lambda each: (each.line, each.column)))

    def error(self, at: Position, path: str, message: str, allowed: str = "", suggestion: str | None = None) -> None:
        """Note what no parser of this format gets past."""
        self.note("error", at, path, message, allowed=allowed, suggestion=suggestion)

    def refuse(self, at: Position, path: str, message: str, allowed: str = "", suggestion: str | None = None) -> None:
        """Note a well-formed value that is not allowed."""
        if not self.replaced:
            self.error(at, path, message, allowed, suggestion)

    # Collections

    def struct(self, node: Node, path: str, fields: Mapping[str, Field], what: str) -> Given | None:
        """Read a mapping with known keys; nothing written counts as an empty one. ``what`` names it in messages."""
        given = Given(node.position, path)
        nodes: dict[str, Node] = {}
        lines: dict[str, int] = {}
        meant: set[str] = set()  # by keys that are unknown: to call those missing as well would say it twice
        for key, value in self.pairs(node, path, what) or ():
            if key.text not in fields:
                meant |= self._unknown_key(key, path, fields, what)
            elif key.text in nodes:
                message = f"`{key.text}` is given twice: on line {lines[key.text]} and on line {key.position.line}"
                self.error(key.position, joined(path, key.text), message, "each key once")
            else:
                nodes[key.text], lines[key.text] = value, key.position.line
                self._place(path, key.text, value, fields[key.text])
        if self._is_no_mapping(node):
            return None
        for name, spec in fields.items():
            self._read_field(given, name, spec, nodes.get(name))
        given.broken |= meant - nodes.keys()
        required = [name for name, spec in fields.items() if spec.required]
        if absent := [name for name in required if name not in nodes and name not in meant]:
            message = f"{what} lacks {code_list(absent)}"
            self.error(node.position, path, message, f"{what} with {code_list(required)}")
        return given

    def _place(self, path: str, key: str, value: Node, spec: Field) -> None:
        inner = joined(path, key)
        if not self.replaced:
            self.positions[inner] = value.position
        if spec.newer:
            message = "the key is simulated, but the router of release 1.6.1 does not know it and refuses the file"
            self.note("warning", value.position, inner, message, router_refuses=True)

    def _read_field(self, given: Given, name: str, spec: Field, node: Node | None) -> None:
        if node is None:
            if spec.required:
                given.broken.add(name)
        elif not (spec.nullable and self.is_null(node, joined(given.path, name))):
            value = spec.read(self, node, joined(given.path, name))
            if value is None:
                given.broken.add(name)
            else:
                given.values[name] = value

    def _unknown_key(self, key: Scalar, path: str, fields: Mapping[str, Field], what: str) -> set[str]:
        """Note a key that is not among ``fields``; returns the keys it was probably meant to give."""
        message, hint, meant = (
            f"{what} does not know the key {quoted(key.text)}",
            closest(key.text, fields),
            set(fields),
        )
        if key.text == "<<":
            message = f"{what} does not know the key `<<`: {self.NO_MERGE_KEYS}"
        else:
            meant = set() if hint is None else {hint}
        self.error(key.position, joined(path, key.text), message, code_list(fields), hint)
        return meant

    def pairs(self, node: Node, path: str, what: str) -> list[tuple[Scalar, Node]] | None:
        """Pairs of a mapping whose keys are text; nothing written counts as an empty mapping."""
        if self._is_no_mapping(node):
            self.error(node.position, path, f"{what} must be a mapping, but {described(node)}", "`key: value` lines")
            return None
        found = []
        for key, value in node.pairs if isinstance(node, yaml12.Mapping) else ():
            if isinstance(key, Scalar):
                found.append((key, value))
            else:
                self.error(key.position, path, f"a key of {what} must be text, but {described(key)}", "text")
        return found

    def items(self, node: Node, path: str, what: str) -> list[Node] | None:
        """Items of a list; nothing written counts as an empty list."""
        if isinstance(node, yaml12.Sequence):
            return node.items
        if nothing_written(node):
            return []
        self.error(node.position, path, f"{what} must be a list, but {described(node)}", "items that start with `- `")
        return None

    @staticmethod
    def _is_no_mapping(node: Node) -> bool:
        return not isinstance(node, yaml12.Mapping) and not nothing_written(node)

    # Scalars

    def is_null(self, node: Node, path: str) -> bool:
        """Whether an optional field is null, which means absent."""
        if not isinstance(node, Scalar) or not node.plain:
            return False
        if node.tag == TAG_PREFIX + "null" and node.text not in scalars.NULL_WORDS:
            self.error(node.position, path, f"{quoted(node.text)} is tagged as null", "`null` or `~`")
            return True
        untagged = node.tag is None or node.tag == TAG_PREFIX + "null"
        return untagged and (not node.text or node.text in scalars.NULL_WORDS)

    def text(self, node: Node, path: str) -> str | None:
        """A text field takes any scalar in its written form."""
        if isinstance(node, Scalar):
            return node.text
        self.error(node.position, path, f"this must be text, but {described(node)}", "text")
        return None

    def identifier(self, node: Node, path: str) -> str | None:
        """A name of letters, digits and a few signs."""
        text = self.text(node, path)
        if text is None or IDENTIFIER.fullmatch(text):
            return text
        problem = "is empty" if not text else "has characters a name may not have"
        self.refuse(node.position, path, f"the name {quoted(text)} {problem}", IDENTIFIER_CHARACTERS)
        return None

    def whole(self, node: Node, path: str, lowest: int = 0, highest: int = MAX_UNSIGNED) -> int | None:
        """A whole number from ``lowest`` (0 or more) to ``highest``, at most 2^64 - 1."""
        example = ", such as 512" if lowest <= 512 <= highest else ""
        allowed = f"a whole number from {lowest:,} to {highest:,}{example}"
        if isinstance(node, Scalar) and _is_untyped(node, "int") and not node.text.startswith("-"):
            value = scalars.whole_number(node.text)
            if value is not None and lowest <= value <= highest:
                return value
            if value is not None and value <= MAX_UNSIGNED:
                problem = "small" if value < lowest else "large"
                self.refuse(node.position, path, f"`{quoted(node.text)[1:-1]}` is too {problem}", allowed)
                return None
        hint = _number_hint(node, lowest, highest)
        self.error(node.position, path, _why_not_whole(node, self.IS_TEXT), allowed, hint)
        return None

    def positive(self, node: Node, path: str) -> int | None:
        """A whole number from 1 to 2^64 - 1."""
        return self.whole(node, path, lowest=1)

    def decimal(self, node: Node, path: str) -> float | None:
        """Any number, infinite ones and NaN included."""
        if isinstance(node, Scalar) and _is_untyped(node, "float"):
            value = scalars.decimal_number(node.text)
            if value is not None:
                return value + 0.0  # -0.0 becomes 0.0
        allowed = "a number such as 0.5 or 16"
        self.error(node.position, path, _why_not_decimal(node), allowed, _number_hint(node))
        return None

    def fraction(self, node: Node, path: str) -> float | None:
        """A finite number from 0 up."""
        value = self.decimal(node, path)
        if value is None or (math.isfinite(value) and value >= 0):
            return value
        self.refuse(node.position, path, f"{value} is out of range", "a finite number, 0 or more")
        return None

    def share(self, node: Node, path: str) -> float | None:
        """A number above 0 and up to 1."""
        value = self.decimal(node, path)
        if value is None or 0 < value <= 1:
            return value
        self.refuse(node.position, path, f"{value} is out of range", "a number above 0 and at most 1")
        return None


def nothing_written(node: Node) -> bool:
    """Whether the place after a key or dash was left empty."""
    return isinstance(node, Scalar) and node.plain and not node.text


def _is_untyped(node: Scalar, kind: str) -> bool:
    """Whether a number may be read from the scalar: quotes make text, whatever the tag; a tagged `|` block does not."""
    return node.plain or (node.literal and node.tag == TAG_PREFIX + kind)


def described(node: Node) -> str:
    """What stands at a place, as the second half of a sentence."""
    if isinstance(node, yaml12.Sequence):
        return "a list stands here"
    if isinstance(node, yaml12.Mapping):
        return "a mapping stands here"
    if nothing_written(node):
        return "nothing stands here"
    value = scalars.plain_value(node.text) if node.plain else node.text
    if value is None:
        return f"{node.text} stands here"
    return f"the {'text' if isinstance(value, str) else 'value'} {quoted(node.text)} stands here"


def _why_not_whole(node: Node, is_text: str) -> str:
    if not isinstance(node, Scalar) or not node.text or not node.plain:
        return _why_no_number(node)
    value = scalars.plain_value(node.text)
    if isinstance(value, str):
        return f"{quoted(node.text)} {is_text}, not a whole number"
    shown = f"`{quoted(node.text)[1:-1]}`"
    if value is None or isinstance(value, bool):
        return f"{shown} is no number"
    if isinstance(value, float):
        return f"{shown} is a decimal number, not a whole one"
    return f"{shown} is " + ("negative" if node.text.startswith("-") else "too large")


def _why_not_decimal(node: Node) -> str:
    if not isinstance(node, Scalar) or not node.text or not node.plain:
        return _why_no_number(node)
    shown = f"`{quoted(node.text)[1:-1]}`"
    in_other_digits = scalars.whole_number(node.text) is not None
    return f"{shown} is not written in decimal digits" if in_other_digits else f"{shown} is no number"


def _why_no_number(node: Node) -> str:
    if not isinstance(node, Scalar):
        return f"this must be a number, but {described(node)}"
    return f"{quoted(node.text)} is text because of its quotes" if not node.plain else "the number is missing"


def _number_hint(node: Node, lowest: int = 0, highest: int = MAX_UNSIGNED) -> str | None:
    """The plain whole number that was probably meant, where it is within the bounds."""
    if not isinstance(node, Scalar) or len(node.text) > 40:
        return None
    text = node.text.strip().replace("_", "").replace(",", "")
    value = scalars.whole_number(text)
    if value is None and (number := scalars.decimal_number(text)) is not None and number.is_integer():
        value = int(number)
    if value is None or not lowest <= value <= highest or (node.plain and str(value) == node.text):
        return None
    return str(value)
