"""Goals for quanta, as values and as short lines of text.

One goal per line; names are those of the policy's classes::

    premium share = 75 %                  also >= and <=; `= 75 % +- 2 %` says how close (1 % where nothing is said)
    premium : regular = 10 : 1            tokens of one to tokens of the other, a tenth more or less
    regular wait p95 <= 2 s               also p50 and p99, and ttft; ms, s or min
    every class without service <= 5 s    or the name of one class
    regular refused <= 0                  requests
    premium share max                     as much as the other goals allow (one such line)

Shares are of the tokens dispatched while all classes that ever wait have requests waiting. ``<`` is ``<=``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from drr.analysis.sweep_figures import REFUSED, SHARE, WITHOUT_SERVICE, ClassRow
from drr.errors import WorkloadError
from drr.policy.fields import closest

Relation = Literal["=", "<=", ">=", "max"]

CLOSE = 0.01
"""How far a share may be from the asked one where the goal does not say."""
CLOSE_RATIO = math.log(1.1)
"""A ratio is kept up to a tenth more or less, and not by its shares: 100 : 1 and 50 : 1 are one point apart."""
MOST_RATIO = 1_000_000
MOST_LINES = 100
MOST_TOLD = 20
"""Lines that are no goals and are named; of the others there is the number."""
LONGEST_SHOWN = 80
EVERY = "every class"
SAMPLES = (
    "premium share = 75 %",
    "premium : regular = 10 : 1",
    "regular wait p95 <= 2 s",
    "every class without service <= 5 s",
    "regular refused <= 0",
    "premium share max",
)
NOT_MEASURED = 10.0
"""Violation of a share that cannot be measured, since the classes never wait together: worse than any that can."""
_UNITS_MS = {"ms": 1.0, "s": 1000.0, "min": 60_000.0}
_NAME = r"(?P<name>[A-Za-z0-9_.-]+)"
_DIGITS = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
_NUMBER = rf"(?P<value>{_DIGITS})"
_RELATION = r"(?P<relation><=|>=|=|<|>)"
_FORMS = {
    "share": rf"{_NAME} share {_RELATION} {_NUMBER} ?%(?: ?(?:\+-|\+/-|±) ?(?P<close>{_DIGITS}) ?%)?",
    "max": rf"{_NAME} share (?:max|as large as possible)",
    "ratio": rf"{_NAME} : (?P<other>[A-Za-z0-9_.-]+) = {_NUMBER} : (?P<second>{_DIGITS})",
    "time": rf"{_NAME} (?P<what>wait|ttft) (?P<part>p50|p95|p99) {_RELATION} {_NUMBER} ?(?P<unit>ms|s|min)",
    "without": rf"(?P<name>every class|[A-Za-z0-9_.-]+) without service {_RELATION} {_NUMBER} ?(?P<unit>ms|s|min)",
    "refused": rf"(?P<name>every class|[A-Za-z0-9_.-]+) refused {_RELATION} {_NUMBER}",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """What one figure of a class should be. ``policy_class`` is None for every class; shares are 0 to 1, times ms.

    With ``other`` it is about the two classes alone: the share of the first in what both got. ``max`` has no value.
    """

    figure: str
    policy_class: str | None
    relation: Relation
    value: float = 0.0
    close: float = CLOSE
    other: str | None = None

    @property
    def is_share(self) -> bool:
        """Whether it is about service, not about times or refusals."""
        return self.figure == SHARE

    @property
    def is_limit(self) -> bool:
        """Whether the figure has to stay on one side of a value."""
        return self.relation in ("<=", ">=")

    def text(self) -> str:
        """The goal as a line that reads as an equal goal."""
        name = self.policy_class or EVERY
        if self.relation == "max":
            return f"{name} share max"
        if self.other is not None:
            # A ratio is written as people ask for it: 10 : 1, or 1 : 4 where the second class is to have more.
            first, second = self.value / (1 - self.value), 1.0
            if first < 1:
                first, second = 1.0, (1 - self.value) / self.value
            return f"{name} : {self.other} = {_written(first)} : {_written(second)}"
        if self.is_share:
            close = "" if self.close == CLOSE or self.relation != "=" else f" +- {_written(self.close * 100)} %"
            return f"{name} share {self.relation} {_written(self.value * 100)} %{close}"
        if self.figure == REFUSED:
            return f"{name} refused {self.relation} {_written(self.value)}"
        time = f"{_written(self.value / 1000)} s" if self.value >= 1000 else f"{_written(self.value)} ms"
        if self.figure == WITHOUT_SERVICE:
            return f"{name} without service {self.relation} {time}"
        what, part, _ = self.figure.split("_")
        return f"{name} {what} {part} {self.relation} {time}"

    def shown(self, value: float | None) -> str:
        """A value of its figure for people."""
        if value is None:
            return "not to be measured"
        if self.other is not None:
            return "all" if value >= 1 else f"{value / (1 - value):,.2f} : 1"
        if self.is_share:
            return f"{value * 100:.1f} %"
        return f"{value:,.1f}".removesuffix(".0") if self.figure == REFUSED else _time(value)

    def measured(self, rows: Sequence[ClassRow]) -> float | None:
        """The figure in one run; the worst where it is about every class; None where it cannot be measured."""
        if self.other is not None:
            first, second = (_of(rows, name)[SHARE] for name in (self.policy_class, self.other))
            if first is None or second is None or first + second == 0:
                return None
            return first / (first + second)
        if self.policy_class is not None:
            return _of(rows, self.policy_class)[self.figure]
        values = [value for row in rows if (value := row[self.figure]) is not None]
        return max(values, default=None) if self.relation == "<=" else min(values, default=None)

    def violation(self, value: float | None) -> float:
        """How far a value is from what is asked: 0 where it is kept, about 1 where it is off by a factor of e."""
        if self.relation == "max":
            return 0.0
        if value is None:
            return NOT_MEASURED if self.is_share else 0.0
        if self.other is not None:
            if not 0 < value < 1:
                return NOT_MEASURED / 2
            return max(abs(math.log(value / (1 - value)) - math.log(self.value / (1 - self.value))) - CLOSE_RATIO, 0.0)
        if self.is_share:
            off = value - self.value
            if self.relation == "=":
                return 4 * max(abs(off) - self.close, 0.0)
            return 4 * max(off if self.relation == "<=" else -off, 0.0)
        shift = 1.0 if self.figure == REFUSED else 1e-3
        factor = math.log((value + shift) / (self.value + shift))
        return max(factor if self.relation == "<=" else -factor, 0.0)


def _of(rows: Sequence[ClassRow], name: str | None) -> ClassRow:
    return next(row for row in rows if row.policy_class == name)


def _time(value_ms: float) -> str:
    return f"{value_ms / 1000:,.4g} s" if value_ms >= 1000 else f"{value_ms:,.4g} ms"


def _written(value: float) -> str:
    """A number as the lines hold it: without an exponent, and without what floating point adds in the last digits."""
    return f"{Decimal(f'{value:.12g}'):f}"


def read_goals(lines: Sequence[str], class_names: Sequence[str]) -> tuple[Goal, ...]:
    """The goals in some lines; empty lines and what follows ``#`` are left out.

    Raises :class:`WorkloadError` that names the lines that are no goals, and goals that contradict each other.
    """
    goals: list[Goal] = []
    problems = []
    if len(lines) > MOST_LINES:
        raise WorkloadError(f"{len(lines):,} lines of goals; at most {MOST_LINES} are read")
    for number, line in enumerate(lines, start=1):
        text = " ".join(line.split("#")[0].split())
        if not text:
            continue
        try:
            goals.append(_goal(text, class_names))
        except WorkloadError as error:
            problems.append(f"goal {number}, {text[:LONGEST_SHOWN]!r}: {error}")
    if not goals and not problems:
        problems.append(f"there is no goal; write one, such as: {SAMPLES[0]}")
    if sum(goal.relation == "max" for goal in goals) > 1:
        problems.append("two goals ask for as much as possible; only one can have it")
    asked = sum(goal.value for goal in goals if goal.is_share and goal.other is None and goal.relation in ("=", ">="))
    if asked > 1 + 1e-9:
        problems.append(f"the shares that are asked for add up to {asked * 100:.6g} %; at most 100 % can be given")
    if problems:
        more = [f"and {len(problems) - MOST_TOLD:,} more"] if len(problems) > MOST_TOLD else []
        raise WorkloadError("\n".join(problems[:MOST_TOLD] + more))
    return tuple(goals)


def _goal(text: str, class_names: Sequence[str]) -> Goal:
    spaced = re.sub(r" ?(<=|>=|[=<>:]) ?", r" \1 ", text)
    for form, pattern in _FORMS.items():
        match = re.fullmatch(pattern, spaced, re.IGNORECASE)
        if match is not None:
            return _made(form, match.groupdict(), class_names)
    raise WorkloadError(f"this is no goal; goals look like: {'; '.join(SAMPLES)}")


def _made(form: str, found: dict[str, str], class_names: Sequence[str]) -> Goal:
    name: str | None = None if found["name"].lower() == EVERY else found["name"]
    for each in (name, found.get("other")):
        if each is not None and each not in class_names:
            hint = closest(each, class_names)
            meant = f"; did you mean {hint}?" if hint else ""
            there = f"the policy has {', '.join(class_names)}{meant}"
            raise WorkloadError(f"there is no class {each[:LONGEST_SHOWN]!r}; {there}")
    relation: Relation = "<="
    match (found.get("relation") or "=")[0]:
        case "=":
            relation = "="
        case ">":
            relation = ">="
    if form == "max":
        return Goal(SHARE, name, "max")
    value = float(found["value"])
    if form == "ratio":
        return _ratio(found, value, name)
    if form == "share":
        if not 0 < value < 100:
            raise WorkloadError(f"a share of {value:g} % cannot be had by quanta; more than 0 and less than 100 % can")
        return Goal(SHARE, name, relation, value / 100, float(found["close"] or CLOSE * 100) / 100)
    if relation == "=":
        raise WorkloadError("only shares can be asked for exactly; write <= for a limit")
    if form == "refused":
        return Goal(REFUSED, name, relation, value)
    value *= _UNITS_MS[found["unit"].lower()]
    figure = WITHOUT_SERVICE if form == "without" else f"{found['what'].lower()}_{found['part'].lower()}_ms"
    return Goal(figure, name, relation, value)


def _ratio(found: dict[str, str], value: float, name: str | None) -> Goal:
    second = float(found["second"])
    if not value or not second:
        raise WorkloadError("a ratio has two numbers above 0")
    if not 1 / MOST_RATIO <= value / second <= MOST_RATIO:
        raise WorkloadError(f"a ratio of at most {MOST_RATIO:,} : 1 is allowed")
    if name == found["other"]:
        raise WorkloadError("a ratio is one of two different classes")
    return Goal(SHARE, name, "=", value / (value + second), other=found["other"])
