"""What a probe sends, where to, and within which limits."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from random import Random
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from drr.analysis.words import counted, listing
from drr.errors import DrrError

MOST_REQUESTS = 2_000
MOST_PER_SECOND = 500.0
MOST_SECONDS = 900.0
MOST_PROMPT_TOKENS = 131_072
MOST_OUTPUT_TOKENS = 4_096
MOST_TOKENS = 20_000_000
"""Of all prompts of a probe together."""

CLASS_HEADER = "x-dynamo-meta-policy-class"
"""The header that names the policy class of a request to Dynamo's frontend."""

PromptKind = Literal["ids", "text", "chat"]
PROMPT_KINDS: tuple[PromptKind, ...] = get_args(PromptKind)

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]+")
_CLASS_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_HOST = re.compile(r"[A-Za-z0-9.:-]+")
_PATH = re.compile(r"[A-Za-z0-9._~/%-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIRST_TOKEN_ID = 256
_WORDS = (
    *("time", "year", "way", "day", "man", "child", "world", "school", "state"),
    *("group", "hand", "part", "place", "case", "week", "point", "home", "water"),
)


class ProbeError(DrrError):
    """A probe cannot be made, or its endpoint cannot be used at all; the text says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A checked address: where connections go, and the path all requests start with."""

    scheme: str
    host: str
    port: int
    base_path: str

    @property
    def name(self) -> str:
        """Host and port, to name to a person."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this very machine."""
        return is_loopback(self.host)


def is_loopback(address: str) -> bool:
    """Whether an address (a name is none, but for ``localhost``) can be reached from this very machine only."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def read_target(url: str) -> Target:
    """Check the address of an endpoint; without a path ``/v1`` is meant. Raises :class:`ProbeError`."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ProbeError(f"the address is not valid: {str(error)[:100]}") from None
    if parts.username is not None or parts.password is not None:
        raise ProbeError("the address holds a user name or password; a key comes from an environment variable only")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = reprlib.repr(url.strip())
        raise ProbeError(f"the address {shown} is not valid; http://host:port or https://host is allowed")
    if parts.query or parts.fragment:
        raise ProbeError("the address holds a query or fragment; host, port and path are allowed")
    if not _HOST.fullmatch(parts.hostname) or not _PATH.fullmatch(parts.path):
        raise ProbeError("the address holds blanks or other characters that have no place in one")
    path = parts.path.rstrip("/") or "/v1"
    if path.endswith(("/completions", "/chat/completions", "/models")):
        raise ProbeError(f"the address ends in {path[-60:]!r}; its base is wanted, as http://host:port/v1")
    return Target(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), path)


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request of a probe; ``due_s`` is after the start, ``policy_class`` empty for none named."""

    row: int
    policy_class: str
    due_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """A bounded load on one endpoint. Everything is checked when it is made: :class:`ProbeError` says what is allowed.

    ``classes`` are names with numbers of requests; an empty name sends no class header. Without ``per_second`` all
    requests are sent at once. ``idle_seconds`` is how long an answer may stand still. ``key_variable`` names the
    environment variable that holds the key; the key itself is never part of a plan.
    """

    url: str
    model: str
    classes: tuple[tuple[str, int], ...]
    prompt_tokens: int = 512
    output_tokens: int = 1
    per_second: float | None = None
    max_seconds: float = 120.0
    idle_seconds: float = 60.0
    prompt: PromptKind = "ids"
    vocabulary: int = 8_000
    header: str = CLASS_HEADER
    key_variable: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        target = read_target(self.url)
        if not self.model.strip():
            raise ProbeError("the model has no name")
        if not _HEADER_NAME.fullmatch(self.header):
            raise ProbeError(f"{self.header!r} is no name of a header")
        if self.prompt not in PROMPT_KINDS:
            raise ProbeError(f"prompts are {self.prompt!r}; allowed are {listing(PROMPT_KINDS)}")
        self._check_classes()
        _within("prompt tokens", self.prompt_tokens, 1, MOST_PROMPT_TOKENS)
        _within("output tokens", self.output_tokens, 1, MOST_OUTPUT_TOKENS)
        _within("token ids in use", self.vocabulary, _FIRST_TOKEN_ID + 64, 10**6)
        _within("seconds", self.max_seconds, 1, MOST_SECONDS)
        _within("seconds without a byte", self.idle_seconds, 0.1, MOST_SECONDS)
        if self.per_second is not None:
            _within("requests per second", self.per_second, 0.01, MOST_PER_SECOND)
            if self.count / self.per_second > self.max_seconds:
                raise ProbeError(
                    f"{self.count:,} requests at {self.per_second:g} per second take longer than the "
                    f"{self.max_seconds:g} seconds allowed: send fewer, or faster"
                )
        _within("tokens of all prompts", self.count * self.prompt_tokens, 1, MOST_TOKENS)
        if self.key_variable is not None:
            if not _VARIABLE.fullmatch(self.key_variable):
                # Not quoted: somebody may have put the key itself there.
                raise ProbeError("the name of the environment variable with the key is not valid (it is a name)")
            if target.scheme == "http" and not target.is_loopback:
                raise ProbeError("a key is sent over https, or to this machine, only: use an https address")

    def _check_classes(self) -> None:
        names = [name for name, _ in self.classes]
        if not names:
            raise ProbeError("no request is to be sent: name a class, as premium=320")
        if len(set(names)) < len(names):
            raise ProbeError("a class is named twice")
        for name, count in self.classes:
            if name and not _CLASS_NAME.fullmatch(name):
                raise ProbeError(f"{name!r} is no name of a class; letters, digits, _ . and - are allowed")
            _within(f"requests of {name or 'no class'}", count, 1, MOST_REQUESTS)
        _within("requests", self.count, 1, MOST_REQUESTS)

    @property
    def count(self) -> int:
        """Requests in all."""
        return sum(count for _, count in self.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as they are shown."""
        return tuple(name or NO_CLASS for name, _ in self.classes)

    @property
    def target(self) -> Target:
        """Where it goes."""
        return read_target(self.url)

    @property
    def path(self) -> str:
        """The path that prompts are posted to."""
        return f"{self.target.base_path}/{'chat/completions' if self.prompt == 'chat' else 'completions'}"

    def load_text(self) -> str:
        """What is sent where, and how."""
        target = self.target
        load = listing([f"{count:,} {name or 'without a class'}" for name, count in self.classes])
        pace = "all at once" if self.per_second is None else f"{self.per_second:g} per second"
        return (
            f"{counted(self.count, 'request')} ({load}) of {self.prompt_tokens:,} tokens to {target.name} "
            f"({target.scheme}, model {self.model}), {pace}"
        )

    def consent_line(self) -> str:
        """What is about to happen, with the target named: nothing is sent before a person has agreed to this."""
        key = f", with the key in {self.key_variable}" if self.key_variable else ""
        return f"Send {self.load_text()}, for at most {self.max_seconds:g} seconds{key}."

    def requests(self) -> list[PlannedRequest]:
        """The requests in sending order: classes evenly mixed, the first of a pair changing (a b, b a, ...)."""
        places = [
            ((number + 0.5) / count, -index if number % 2 else index, name)
            for index, (name, count) in enumerate(self.classes)
            for number in range(count)
        ]
        pace_s = 0.0 if self.per_second is None else 1.0 / self.per_second
        return [PlannedRequest(row, name, row * pace_s) for row, (_, _, name) in enumerate(sorted(places))]

    def body(self, row: int) -> bytes:
        """The JSON of one request; its prompt is drawn for it alone, so that no two begin alike but by chance."""
        random = Random(f"{self.seed}/{row}")
        request: dict[str, Any] = {"model": self.model, "max_tokens": self.output_tokens, "stream": True}
        if self.prompt == "ids":
            span = range(_FIRST_TOKEN_ID, self.vocabulary)
            request["prompt"] = random.choices(span, k=self.prompt_tokens)
        else:
            text = " ".join([str(row), *random.choices(_WORDS, k=max(0, self.prompt_tokens - 1))])
            request |= {"messages": [{"role": "user", "content": text}]} if self.prompt == "chat" else {"prompt": text}
        return json.dumps(request).encode()

    def headers(self, policy_class: str, key: str | None) -> dict[str, str]:
        """The headers of one request; ``key`` is what :func:`read_key` found."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if policy_class:
            headers[self.header] = policy_class
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def to_mapping(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self) | {"classes": [list(each) for each in self.classes]}

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> ProbePlan:
        """Read what :meth:`to_mapping` wrote."""
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        return cls(**(values | {"classes": tuple((name, count) for name, count in values["classes"])}))


NO_CLASS = "(no class)"


def read_key(plan: ProbePlan) -> str | None:
    """The key of a plan from the environment; raises :class:`ProbeError` where the named variable holds none."""
    if plan.key_variable is None:
        return None
    key = os.environ.get(plan.key_variable, "").strip()
    if not key:
        raise ProbeError(f"the environment variable {plan.key_variable} is not set")
    if not key.isascii() or not key.isprintable():
        raise ProbeError(f"the environment variable {plan.key_variable} holds characters that no header may have")
    return key


def read_class(text: str, default_count: int) -> tuple[str, int]:
    """``NAME=COUNT``, or ``NAME`` for the default count; raises :class:`ProbeError`."""
    name, equals, number = text.strip().partition("=")
    if not name:
        raise ProbeError(f"class {reprlib.repr(text)}: NAME=COUNT is expected, as premium=320")
    if not equals:
        return name, default_count
    if not number.isascii() or not number.isdigit() or len(number) > 9:
        raise ProbeError(f"class {reprlib.repr(text)}: {reprlib.repr(number)} is no number of requests")
    return name, int(number)


def read_classes(text: str) -> tuple[tuple[str, int], ...]:
    """Several ``NAME=COUNT`` with blanks or commas between them."""
    pieces: Sequence[str] = re.split(r"[\s,]+", text.strip()) if text.strip() else ()
    return tuple(read_class(piece, 1) for piece in pieces)


def _within(what: str, value: float, least: float, most: float) -> None:
    if not math.isfinite(value) or not least <= value <= most:
        raise ProbeError(f"{what}: {value:,} given, {least:,} to {most:,} are allowed")
