"""What one written value means: the YAML 1.2 core schema, in the shade the router's parser gives it.

PyYAML's own resolvers follow YAML 1.1, where ``no`` is false, ``1:30`` is 90 and ``0100`` is 64. None of that is true
for the router, so nothing of them is used. Numbers: ``512``, ``+512``, ``0x200``, ``0o1000``, ``0b1000`` are whole,
``1e3``, ``.5``, ``512.0``, ``.inf`` are decimal, and ``0100``, ``1_000``, ``1:30`` are text.
"""

from __future__ import annotations

import math
import re

NULL_WORDS = frozenset({"null", "Null", "NULL", "~"})
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

_INFINITIES = frozenset({".inf", ".Inf", ".INF"})
_NOT_A_NUMBER = frozenset({".nan", ".NaN", ".NAN"})
_BASED = re.compile(r"([+-]?)0(?:x([0-9A-Fa-f]+)|o([0-7]+)|b([01]+))")
_DECIMAL = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,38})")  # 2^128 has 39 digits, and more is no whole number to the router
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ZERO_LED = re.compile(r"[+-]?0[0-9]+")
_LOWEST, _HIGHEST = -(2**127), 2**128 - 1


def whole_number(text: str) -> int | None:
    """The whole number that ``text`` writes, or None; beyond 128 bits the router does not see a whole number."""
    value: int | None = None
    if match := _BASED.fullmatch(text):
        sign, hexadecimal, octal, binary = match.groups()
        digits, base = (hexadecimal, 16) if hexadecimal else (octal, 8) if octal else (binary, 2)
        value = int(digits, base)
        value = -value if sign == "-" else value
    elif _DECIMAL.fullmatch(text):
        value = int(text)
    return value if value is not None and _LOWEST <= value <= _HIGHEST else None


def decimal_number(text: str) -> float | None:
    """The number that ``text`` writes where a decimal number is expected, or None.

    Leading zeros are fine here (``007`` is 7), ``0x10`` is not, and a number too large for a double is text.
    """
    if text.removeprefix("+") in _INFINITIES:
        return math.inf
    if text in _NOT_A_NUMBER:
        return math.nan
    if text.startswith("-") and text[1:] in _INFINITIES:
        return -math.inf
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def plain_value(text: str) -> bool | int | float | str | None:
    """What an unquoted value is where any value may stand."""
    if not text or text in NULL_WORDS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    whole = whole_number(text)
    if whole is not None:
        return whole
    number = None if _ZERO_LED.fullmatch(text) else decimal_number(text)
    return text if number is None else number
