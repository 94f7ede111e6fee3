"""Values of trace cells: whole numbers, times, dates. Nothing is guessed: what can be read in two ways is refused."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal, get_args

from drr.workload.mooncake import MAX_BARE_TOKENS, MAX_SHOWN, shown
from drr.workload.traces_reading import BadRowError

TimeUnit = Literal["ns", "us", "ms", "s", "date"]
TIME_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)
UNIT_WORDS: dict[TimeUnit, str] = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "date": "dates with time of day",
}
_MS_PER: dict[str, Decimal] = {"ns": Decimal("1e-6"), "us": Decimal("1e-3"), "ms": Decimal(1), "s": Decimal(1000)}

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"-?\d{1,3}(?:[,.' \u00a0\u202f_]\d{3})+|-?\d+,\d+", re.ASCII)
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?\s?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)
NS_PER_SECOND = 10**9
NS_PER_MS = 10**6
_UNIX_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST_SECOND = (date.min.toordinal() - _UNIX_EPOCH_DAY) * 86_400
_LAST_SECOND = (date.max.toordinal() + 1 - _UNIX_EPOCH_DAY) * 86_400 - 1


def _number(column: str, text: str, allowed: str) -> Decimal:
    if _NUMBER.fullmatch(text):
        try:
            return Decimal(text)
        except InvalidOperation:  # an exponent that no decimal can hold
            raise BadRowError(f"{column} is {shown(text)}; {allowed} is allowed") from None
    if not text:
        raise BadRowError(f"{column} is empty; {allowed} is needed")
    why = "; digits in groups and decimal commas are not read, since they mean different things in different countries"
    raise BadRowError(f"{column} is {shown(text)}; {allowed} is allowed{why if _GROUPED.fullmatch(text) else ''}")


def whole_of_cell(column: str, text: str, *, least: int, most: int = MAX_BARE_TOKENS) -> int:
    """A whole number from a text: ``512``, ``512.0`` and ``5.12e2``, not ``1,024``, ``2.048`` or ``12 80``."""
    allowed = f"a whole number from {least:,} to {most:,}"
    value = _number(column, text, allowed)
    # The range comes first: turning 1e999999 into an int would take forever.
    if least <= value <= most and value == value.to_integral_value():
        return int(value)
    maybe = " (1.024 may stand for 1024, so it is not read)" if _GROUPED.fullmatch(text) else ""
    raise BadRowError(f"{column} is {shown(text)}; {allowed} is allowed{maybe}")


def ms_of_cell(column: str, text: str, unit: TimeUnit) -> float:
    """Milliseconds from a number text in ``unit``, rounded once."""
    return _finite_ms(column, _number(column, text, f"a number of {UNIT_WORDS[unit]}"), unit, text)


def ms_of_json(column: str, value: object, unit: TimeUnit) -> float:
    """Milliseconds from a JSON number in ``unit``, as its shortest decimal form says, rounded once."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and math.isinf(value))
    ):
        raise BadRowError(f"{column} is {shown(value)}; a finite number of {UNIT_WORDS[unit]} is allowed")
    return _finite_ms(column, Decimal(repr(value)), unit, shown(value))


def _finite_ms(column: str, value: Decimal, unit: TimeUnit, text: str) -> float:
    ms = float(value * _MS_PER[unit]) if abs(value.adjusted()) < 300 else math.inf
    if value and not math.isfinite(ms):
        raise BadRowError(f"{column} is {text[:MAX_SHOWN]}; a finite number of {UNIT_WORDS[unit]} is allowed")
    return ms if value else 0.0


def is_date(text: str) -> bool:
    """Whether a text is a date with time of day, as far as its form goes."""
    return _DATE.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    return _NUMBER.fullmatch(text) is not None


def ns_of_date(column: str, value: object) -> int:
    """Nanoseconds since 1970 of ``2023-11-16 18:56:22.0732650``; up to nine digits, zone optional (then it is UTC)."""
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BadRowError(f"{column} is {shown(value)}; a date like 2023-11-16 18:56:22.073 is allowed")
    day, hour, minute, second, fraction, zone = match.groups()
    days = _day_number(day)
    if days is None or int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        raise BadRowError(f"{column} is {shown(value)}; there is no such day or time")
    seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60
        seconds += offset if zone[0] == "-" else -offset
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise BadRowError(f"{column} is {shown(value)}; in UTC it is outside of the years 1 to 9999")
    return seconds * NS_PER_SECOND + int((fraction or "").ljust(9, "0"))


@lru_cache(maxsize=64)
def _day_number(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal() - _UNIX_EPOCH_DAY
    except ValueError:
        return None


def ids_of_cell(column: str, text: str) -> list[int]:
    """Block ids from a cell: a JSON list, or whole numbers with spaces between them."""
    try:
        ids = json.loads(text) if text.startswith("[") else list(map(_digits, text.split()))
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list):
        raise BadRowError(f'{column} is "{text[:60]}"; a list like [3, 4, 5] or 3 4 5 is allowed')
    return ids


def _digits(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def epoch_unit(value: float) -> TimeUnit | None:
    """The unit in which a number is a moment of the years 2001 to 2286, None where it is in none."""
    units: tuple[tuple[float, TimeUnit], ...] = ((1e9, "s"), (1e12, "ms"), (1e15, "us"), (1e18, "ns"))
    return next((unit for floor, unit in units if floor <= value < floor * 10), None)
