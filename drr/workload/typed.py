"""Hand-typed queues for teaching: one class per line, one number per request.

::

    # class (quantum): tokens of each request, first come first
    A (60): 25 45 10
    B (60): 50 30@2        # the second one arrives after two dispatches
    C (60): 20!1 20^5 20>0 100/80

    * hold 1 @2           # worker 1 is busy after two dispatches

A number is a prompt's length in tokens. What may follow it, in any order and without a space: ``@n`` arrives after n
dispatches, ``!n`` strict priority, ``^s`` priority jump in seconds, ``>w`` or ``>w.r`` pinned to worker w (dp rank r),
``/c`` of its tokens c are cached. ``(quantum)`` or ``(quantum wspt)`` makes a policy file unnecessary.

Lines with ``*`` change workers: ``hold`` and ``free``, ``overload`` and ``recover``, ``join`` and ``leave``, or
``finish``: the oldest request there ends.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from drr.errors import WorkloadError
from drr.policy.diagnostics import Diagnostic, quoted
from drr.policy.fields import (
    IDENTIFIER,
    IDENTIFIER_CHARACTERS,
    MAX_PROBLEMS,
    TooManyProblemsError,
    closest,
    code_list,
    stopped_at,
)
from drr.policy.profiles import QUEUE_POLICIES
from drr.policy.schema import MAX_UNSIGNED, Profile, QueuePolicy
from drr.router.requests import Constraint, RequestTable
from drr.simulation.cluster import CHANGE_KINDS
from drr.simulation.manual import Change, Finish
from drr.workload.typed_queues import MS_PER_DISPATCH, TypedQueues, profile_of

__all__ = [
    "MAX_REQUESTS",
    "MS_PER_DISPATCH",
    "TypedQueues",
    "TypedReading",
    "load_typed",
    "profile_of",
    "read_typed",
    "typed_profile",
]

MAX_REQUESTS = 1_000
"""Typed queues are for looking at one dispatch after the other; larger workloads have a spec or a trace."""

# Possessive, so that no line takes longer than its length.
_HEAD = re.compile(r"\s*+(?P<name>[^\s:(]*+)\s*+(?:\((?P<options>[^)]*+)\)\s*+)?:")
_CHANGE = re.compile(r"\s*+\*\s*+(?P<what>\S++)\s++(?P<worker>[0-9]{1,9}+)\s*+(?:@(?P<after>[0-9]{1,9}+))?\s*+")
_LARGEST = 10**15


@dataclass(frozen=True, slots=True)
class TypedReading:
    """What came of reading typed queues; ``queues`` is None where there is an error. Diagnostics are in text order."""

    queues: TypedQueues | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether the text can be run."""
        return self.queues is not None


def read_typed(text: str, profile: Profile | None = None) -> TypedReading:
    """Read typed queues. With a ``profile`` names are its classes or families; without, each line gives a quantum."""
    reader = _Reader(profile)
    queues: TypedQueues | None = None
    try:
        for number, line in enumerate(text.splitlines(), start=1):
            reader.line(number, line.split("#", 1)[0])
        queues = reader.result()
    except TooManyProblemsError:
        reader.diagnostics.append(stopped_at(reader.diagnostics[-1], "text"))
    found = tuple(sorted(reader.diagnostics, key=lambda each: (each.line, each.column)))
    return TypedReading(queues, found)


def load_typed(text: str, profile: Profile | None = None) -> TypedQueues:
    """Like :func:`read_typed`, but problems raise one :class:`WorkloadError` that names them all."""
    reading = read_typed(text, profile)
    if reading.queues is None:
        raise WorkloadError("the typed queues have errors:\n" + "\n".join(d.text() for d in reading.diagnostics))
    return reading.queues


def typed_profile(text: str) -> Profile:
    """The profile that typed queues with quanta describe; raises :class:`WorkloadError` for bad ones."""
    return load_typed(text).profile


@dataclass(slots=True)
class _Line:
    """What the start of a line says."""

    name: str
    index: int | None
    """Class that the policy names here; None for a family, and where the text itself makes the classes."""
    header: str


@dataclass(slots=True)
class _Entry:
    """One request as it is written."""

    tokens: int = 0
    cached: int = -1
    after: int = 0
    strict: int = 0
    jump: float = 0.0
    constraint: Constraint | None = None
    seen: set[str] = field(default_factory=set)


class _Reader:
    """Collects requests, quanta and problems line by line."""

    def __init__(self, profile: Profile | None) -> None:
        self.profile = profile
        self.diagnostics: list[Diagnostic] = []
        self.requests = RequestTable()
        self.after: list[int] = []
        self.places: list[tuple[int, int]] = []
        self.counts: dict[str, int] = {}
        self.quanta: dict[str, int] = {}
        self.orders: dict[str, QueuePolicy] = {}
        self.changes: list[tuple[int, Change | Finish]] = []
        self.change_places: list[tuple[int, int]] = []
        self.unnamed_quantum: dict[str, tuple[int, int]] = {}

    def error(self, at: tuple[int, int], path: str, message: str, allowed: str, suggestion: str | None = None) -> None:
        self.diagnostics.append(Diagnostic("error", *at, path, message, allowed, suggestion))
        if len(self.diagnostics) >= MAX_PROBLEMS:
            raise TooManyProblemsError

    def line(self, number: int, line: str) -> None:
        if not line.strip():
            return
        start = (number, len(line) - len(line.lstrip()) + 1)
        if line.lstrip().startswith("*"):
            self.change(line, start)
            return
        head = _HEAD.match(line)
        if head is None:
            self.error(start, "", f"{quoted(line.strip())} has no class before it", "`name: 25 45 10`")
            return
        name = head["name"]
        at = (number, head.start("name") + 1)
        if not IDENTIFIER.fullmatch(name):
            problem = f"{quoted(name)} is no class name" if name else "the class name is missing"
            self.error(at, "", problem, f"{IDENTIFIER_CHARACTERS}, then `:`")
            return
        self.counts.setdefault(name, 0)
        self.options(name, head["options"], (number, head.start("options") + 1), at)
        known = self.resolve(name, at)
        if known is None:
            return
        for word in re.finditer(r"\S+", line[head.end() :]):
            place = (number, head.end() + word.start() + 1)
            self.entry(known, word[0], place)

    def change(self, line: str, at: tuple[int, int]) -> None:
        """Read a line about a worker."""
        found = _CHANGE.fullmatch(line)
        words = [*CHANGE_KINDS, "finish"]
        if found is None or found["what"] not in words:
            hint = closest(found["what"], words) if found is not None else None
            allowed = f"`* WORD WORKER @n` with {code_list(words)}"
            self.error(at, "", f"{quoted(line.strip())} is no change of a worker", allowed, hint)
            return
        worker = int(found["worker"])
        what = next((each for each in CHANGE_KINDS if each == found["what"]), None)
        self.changes.append((int(found["after"] or 0), Finish(worker=worker) if what is None else Change(what, worker)))
        self.change_places.append(at)

    def resolve(self, name: str, at: tuple[int, int]) -> _Line | None:
        """The policy header that leads to the class or family of this name."""
        if self.profile is None or name in self.profile.families:
            return _Line(name, None, name)
        for index, each in enumerate(self.profile.classes):
            if each.name == name:
                return _Line(name, index, each.policy_family or each.name)
        names = list(dict.fromkeys([*(c.name for c in self.profile.classes), *self.profile.families]))
        problem = f"the policy has no class or family {quoted(name)}"
        self.error(at, name, problem, code_list(names), closest(name, names))
        return None

    def options(self, name: str, options: str | None, at: tuple[int, int], name_at: tuple[int, int]) -> None:
        """What stands in parentheses: the quantum, and the order of the class where it is not ``fcfs``."""
        if options is None:
            self.unnamed_quantum.setdefault(name, name_at)
            return
        quantum: int | None = None
        order: QueuePolicy | None = None
        for word in options.replace(",", " ").split():
            if word in QUEUE_POLICIES and order is None:
                order = "wspt" if word == "wspt" else "fcfs"
            elif re.fullmatch(r"[0-9]{1,20}", word) and 1 <= int(word) <= MAX_UNSIGNED and quantum is None:
                quantum = int(word)
            else:
                allowed = "a quantum of at least 1 token, and `fcfs` or `wspt`, as in `(60)` or `(60 wspt)`"
                self.error(at, name, f"{quoted(word)} is not allowed in the parentheses", allowed)
                return
        if quantum is None:
            self.error(at, name, "the parentheses hold no quantum", "a quantum of at least 1 token, as in `(60)`")
            return
        if self.profile is None:
            if self.quanta.setdefault(name, quantum) != quantum:
                self.error(at, name, f"{name} has the quantum {self.quanta[name]:,} on an earlier line", "one quantum")
            if order is not None and self.orders.setdefault(name, order) != order:
                self.error(at, name, f"{name} has the order {self.orders[name]} on an earlier line", "one order")
            return
        meant = [each for each in self.profile.classes if name in (each.name, each.policy_family)]
        if any(each.quantum != quantum for each in meant):
            given = ", ".join(f"{each.name} {each.quantum:,}" for each in meant)
            self.error(at, name, f"the policy gives another quantum ({given})", "the policy's quantum, or none here")
        if order is not None and any(each.queue_policy != order for each in meant):
            given = ", ".join(f"{each.name} {each.queue_policy}" for each in meant)
            self.error(at, name, f"the policy gives another order ({given})", "the policy's order, or none here")

    def entry(self, line: _Line, word: str, at: tuple[int, int]) -> None:
        """One request: a number and what follows it."""
        self.counts[line.name] += 1
        label = f"{line.name}{self.counts[line.name]}"
        found = _Entry()
        written = word.removesuffix(",")
        number = re.match(r"[^@!^>/]*", written)
        digits = number[0] if number is not None else ""
        tokens = _whole(digits)
        if not tokens:
            plain = digits.replace(",", "").replace("_", "")
            hint = plain if _whole(plain) and plain != digits else None
            what = f"{quoted(digits)} is no number of tokens" if digits else "the number of tokens is missing"
            self.error(at, label, what, "a whole number of at least 1, with spaces between numbers", hint)
            return
        found.tokens = tokens
        before = len(self.diagnostics)
        for part in re.finditer(r"([@!^>/])([^@!^>/]*)", written):
            self.suffix(found, label, part[1], part[2], (at[0], at[1] + part.start()))
        if len(self.diagnostics) > before or not self.fits_class(line, found, label, at):
            return
        if len(self.requests) >= MAX_REQUESTS:
            if not any("too many" in d.message for d in self.diagnostics):
                self.error(at, label, "there are too many requests", f"{MAX_REQUESTS:,} typed requests")
            return
        self.requests.append(
            found.tokens,
            policy_header=line.header,
            priority_jump=found.jump,
            strict_priority=found.strict,
            cached_tokens=found.cached,
            name=label,
            constraint=found.constraint,
        )
        self.after.append(found.after)
        self.places.append(at)

    def suffix(self, entry: _Entry, label: str, sign: str, text: str, at: tuple[int, int]) -> None:
        """Read what one sign says into ``entry``."""
        if sign in entry.seen:
            self.error(at, label, f"`{sign}` stands twice", "each sign once")
            return
        entry.seen.add(sign)
        value = _whole(text)
        if sign == "^":
            if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
                self.error(at, label, f"{quoted(f'^{text}')} is no priority jump", "seconds, such as `^5` or `^0.5`")
            else:
                entry.jump = float(text)
        elif sign == ">":
            pin = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", text)
            if pin is None:
                self.error(
                    at, label, f"{quoted(f'>{text}')} names no worker", "`>0` for worker 0, `>0.1` for its dp rank 1"
                )
            else:
                entry.constraint = Constraint(int(pin[1]), int(pin[2]) if pin[2] is not None else None)
        elif value is None:
            what = {"@": "number of dispatches", "!": "strict priority", "/": "number of cached tokens"}[sign]
            self.error(
                at, label, f"{quoted(sign + text)} is no {what}", f"a whole number of at least 0, as in `{sign}2`"
            )
        elif sign == "@":
            entry.after = value
        elif sign == "!":
            entry.strict = value
        elif value > entry.tokens:
            allowed = f"at most {entry.tokens:,}, the length of the prompt"
            self.error(at, label, f"`/{value}`: more tokens are cached than the prompt has", allowed)
        else:
            entry.cached = value

    def fits_class(self, line: _Line, entry: _Entry, label: str, at: tuple[int, int]) -> bool:
        """Whether the router puts the request into the class that the line names."""
        if self.profile is None or line.index is None:
            return True
        uncached = entry.tokens - max(entry.cached, 0)
        found = self.profile.class_index(line.header, uncached)
        if found == line.index:
            return True
        other = self.profile.classes[found].name
        message = f"{uncached:,} uncached tokens make this a request of class {quoted(other)}, not {quoted(line.name)}"
        self.error(at, label, message, f"the line of {quoted(other)}, or of the family {quoted(line.header)}")
        return False

    def result(self) -> TypedQueues | None:
        """What all lines together give; None where there is an error."""
        profile = self.profile
        if profile is None:
            for name, at in self.unnamed_quantum.items():
                if name not in self.quanta:
                    allowed = f"the quantum in parentheses, as in `{name} (60): 25 45 10`"
                    self.error(at, name, f"class {name} has no quantum", allowed)
            if not self.diagnostics and self.quanta:
                profile = profile_of(self.quanta, self.orders)
        if not self.diagnostics and not len(self.requests):
            self.error((1, 1), "", "there is no request", "lines such as `A (60): 25 45 10`")
        if not self.diagnostics:
            self.check_order()
        if self.diagnostics or profile is None:
            return None
        return TypedQueues(profile, self.requests, tuple(self.counts), tuple(self.after), tuple(self.changes))

    def check_order(self) -> None:
        """Nobody can arrive after more dispatches than there are requests that come before."""
        ordered = sorted(self.after)
        changed = [after for after, _ in self.changes]
        names = [*self.requests.name, *("" for _ in changed)]
        places = [*self.places, *self.change_places]
        for name, place, after in zip(names, places, [*self.after, *changed], strict=True):
            earlier = bisect_left(ordered, after)
            if after > earlier:
                message = f"only {earlier:,} requests arrive before it, so {after:,} cannot be dispatched by then"
                self.error(place, name, message, f"at most `@{earlier}`")


def _whole(text: str) -> int | None:
    """The whole number of plain ASCII digits, or None."""
    if not text.isascii() or not text.isdigit() or len(text) > 16 or int(text) > _LARGEST:
        return None
    return int(text)
