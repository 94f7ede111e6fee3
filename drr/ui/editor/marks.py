"""From the line and column of a diagnostic to the stretch of text it speaks of, in the units of a browser."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from drr.policy import Diagnostic

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # what the YAML parser counts as the end of a line
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|'(?:[^']|'')*'"
    r"|(?:[^\s:#,\[\]{}]|:(?![\s,\]}])|(?<=\S)#|[ \t](?![\s#]))+"
)


_LONGEST_TOKEN = 1_000
_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def marks(text: str, diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Every diagnostic with ``from`` and ``to``: offsets into ``text`` in UTF-16 units, as JavaScript counts.

    A mark covers the word or quoted text that starts at the diagnostic's place, within its line and its next thousand
    characters; at the end of a line it is empty.
    """
    starts = [0, *(match.end() for match in _BREAK.finditer(text))]
    wide = [match.start() for match in _TWO_UNITS.finditer(text)]
    found = []
    for each in diagnostics:
        line = min(each.line, len(starts)) - 1
        end = starts[line + 1] if line + 1 < len(starts) else len(text)
        # Columns are counted without a byte-order mark.
        begin = min(starts[line] + each.column - 1 + (line == 0 and text.startswith("\ufeff")), end)
        words = text[begin : min(end, begin + _LONGEST_TOKEN)]
        token = _TOKEN.match(words)
        length = len(token[0].rstrip()) if token else len(words.rstrip()[:1])
        found.append(
            {
                "from": begin + bisect_left(wide, begin),
                "to": begin + length + bisect_left(wide, begin + length),
                "severity": each.severity,
                "message": each.message,
                "allowed": each.allowed,
                "suggestion": each.suggestion,
            }
        )
    return found
