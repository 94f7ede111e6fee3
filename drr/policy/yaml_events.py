"""Parser events for one text, and its syntax errors in plain words.

The router's parser descends from libyaml, so PyYAML's binding to libyaml is used wherever PyYAML brings it. The pure
Python scanner is the fallback; it is slower, and it stumbles over tabs that libyaml passes over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner


class YamlSyntaxError(Exception):
    """The text is no YAML, or not within bounds: 1-based ``line`` and ``column``, what is wrong, what is allowed."""

    def __init__(self, line: int, column: int, message: str, allowed: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.line, self.column, self.message, self.allowed = line, column, message, allowed
        self.suggestion = suggestion


class PureParser(Reader, Scanner, Parser):
    """PyYAML's Python parser, with the tabs between tokens that libyaml skips (as after the colon of a key)."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)

    def scan_to_next_token(self) -> None:
        """Skip blanks, comments and line breaks, and tabs where no key could start."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def dispose(self) -> None:
        """Nothing to give back; the libyaml parser has a method of this name."""


FastParser: Any
try:
    from yaml._yaml import CParser as FastParser
except ImportError:  # this PyYAML was built without libyaml
    FastParser = None

_PLAIN_WORDS = {
    "could not find expected ':'": (
        "this line is no `key: value`: the colon, or the space after it, is missing",
        "`key: value`",
    ),
    "mapping values are not allowed in this context": (
        "there is a second `: ` on this line, or the line is indented deeper than the keys it belongs with",
        "one `key: value` per line, and text with `: ` in it in quotes",
    ),
    "did not find expected key": (
        "this line does not fit the mapping above it: look at its indentation, at quotes and at missing commas",
        "keys of one mapping start in the same column",
    ),
    "did not find expected '-' indicator": ("this line is no item of the list above it", "items that start with `- `"),
    "block sequence entries are not allowed in this context": (
        "a list item cannot stand here",
        "`- ` at the start of a line of its own",
    ),
    "found unexpected end of stream": ("a quotation mark is opened here and never closed", "quotes in pairs"),
    "did not find expected ',' or ']'": ("the list opened here lacks a comma or its `]`", "`[a, b]`"),
    "did not find expected ',' or '}'": (
        "the mapping opened here lacks a comma or its `}`",
        "`{key: value, key: value}`",
    ),
    "exceeded maximum nesting depth": ("brackets are nested too deeply", "fewer brackets within each other"),
    "found character that cannot start any token": (
        "this character cannot start a value",
        "the same text in quotes",
    ),
    "found unknown escape character": (
        "this backslash sequence is unknown",
        "single quotes, which keep a backslash as it is",
    ),
    "did not find expected node content": ("a value is missing here", "a value, or `~` for none"),
    "found incompatible YAML document": ("the %YAML version is unknown", "`%YAML 1.2`, or no such line"),
    "found unknown directive name": ("this directive is unknown", "`%YAML 1.2`, or no such line"),
    "did not find expected <document start>": ("this stands after the end of the document", "one document per file"),
}
_PURE_WORDS = {
    "mapping values are not allowed here": "mapping values are not allowed in this context",
    "expected <block end>, but found": "did not find expected key",
    "sequence entries are not allowed here": "block sequence entries are not allowed in this context",
    "expected ',' or ']', but got": "did not find expected ',' or ']'",
    "expected ',' or '}', but got": "did not find expected ',' or '}'",
    "found unknown escape character": "found unknown escape character",
    "expected the node content": "did not find expected node content",
    "expected '<document start>'": "did not find expected <document start>",
    "mapping keys are not allowed here": "mapping keys are not allowed in this context",
    "found character '": "found character that cannot start any token",
}
_GLUED_DASH = re.compile(r"[ ]*-(?=[A-Za-z_][A-Za-z0-9_]*:(?: |$))")
_UNCLOSED = frozenset(
    {"found unexpected end of stream", "did not find expected ',' or ']'", "did not find expected ',' or '}'"}
)


def parser_events(text: str, *, pure: bool = False) -> Iterator[Any]:
    """The events of ``text`` one by one; raises :class:`YamlSyntaxError` where it stops being YAML."""
    parser = PureParser(text) if pure or FastParser is None else FastParser(text)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    except yaml.MarkedYAMLError as error:
        raise _in_plain_words(error, text) from None
    except yaml.YAMLError as error:
        raise YamlSyntaxError(1, 1, f"the text is no YAML: {error}", "YAML 1.2") from None
    finally:
        parser.dispose()


def _in_plain_words(error: yaml.MarkedYAMLError, text: str) -> YamlSyntaxError:
    problem = error.problem or "unreadable"
    problem = next((known for pure, known in _PURE_WORDS.items() if problem.startswith(pure)), problem)
    marks = [mark for mark in (error.problem_mark, error.context_mark) if mark is not None]
    if not marks:
        return YamlSyntaxError(1, 1, f"the text is no YAML: {problem}", "YAML 1.2")
    if problem not in _UNCLOSED and (tab := _tab_in_indentation(text, [mark.line for mark in marks])) is not None:
        return YamlSyntaxError(*tab, "the line is indented with a tab; YAML takes only spaces there", "spaces")
    if problem not in _UNCLOSED and (dash := _glued_dash(text, marks[0].line)) is not None:
        return dash
    # What was opened and never closed, and the line without a colon, are at the start of the parser's context.
    mark = marks[-1] if problem in _UNCLOSED or problem == "could not find expected ':'" else marks[0]
    context = f"{error.context}, " if error.context else ""
    message, allowed = _PLAIN_WORDS.get(problem, (f"the text is no YAML: {context}{problem}", "YAML 1.2"))
    return YamlSyntaxError(mark.line + 1, mark.column + 1, message, allowed)


def _glued_dash(text: str, line_index: int) -> YamlSyntaxError | None:
    """A list item without the space after its dash, on the line (0-based) or the one before it."""
    lines = text.splitlines()
    for index in (line_index, line_index - 1):
        if 0 <= index < len(lines) and (match := _GLUED_DASH.match(lines[index])):
            return YamlSyntaxError(index + 1, match.end(), "the space after the dash is missing", "`- key: value`")
    return None


def _tab_in_indentation(text: str, line_indexes: list[int]) -> tuple[int, int] | None:
    """1-based line and column of a tab that indents one of the lines (0-based)."""
    lines = text.splitlines()
    for index in line_indexes:
        line = lines[index] if index < len(lines) else ""
        indent = line[: len(line) - len(line.lstrip())]
        if "\t" in indent:
            return index + 1, indent.index("\t") + 1
    return None
