"""Lines of JSON objects, one by one with exact errors, or many at once where nothing is wrong with them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

from drr.workload.traces_lines import refuse_broken_text
from drr.workload.traces_reading import BadRowError

Row = dict[str, Any]


def _refuse_constant(name: str) -> NoReturn:
    raise BadRowError(f"{name} is no number that a trace may hold")


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> Row:
    row = dict(pairs)
    if len(row) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadRowError(f"the key {twice!r} stands twice")
    return row


def parse_row(text: str) -> Row:
    """The object on a line; raises :class:`BadRowError` for anything that is not exactly one JSON object."""
    refuse_broken_text(text)
    try:
        row = json.loads(text, parse_constant=_refuse_constant)
        if isinstance(row, dict) and text.count(":") > len(row):
            # More colons than keys: a key may stand twice, which plain parsing would not tell.
            row = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except json.JSONDecodeError as error:
        raise BadRowError(f"no valid JSON: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, BadRowError):
            raise
        raise BadRowError(f"no valid JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadRowError('a JSON object is expected, like {"timestamp": 0, "input_length": 512, ...}')
    return row


def parse_rows(lines: Sequence[str]) -> list[Row] | None:
    """The objects on many lines in one go, several times as fast; None where some line needs a closer look.

    All lines become one array with a mark between every two. Every mark has to come back at its place between two
    objects: so each line holds exactly one object, whatever stands in it.
    """
    mark = secrets.token_hex(8)
    text = "[" + f',"{mark}",'.join(lines) + "]"
    try:
        refuse_broken_text(text)
        values = json.loads(text, parse_constant=_refuse_constant)
    except (RecursionError, ValueError):
        return None
    rows: list[Row] = values[::2]
    marks = values[1::2]
    if len(rows) != len(lines) or marks.count(mark) != len(lines) - 1 or set(map(type, rows)) != {dict}:
        return None
    # A colon per key and no more: no key stands twice (nor does any value hold an object or a colon).
    if text.count(":") != sum(map(len, rows)):
        return None
    return rows
