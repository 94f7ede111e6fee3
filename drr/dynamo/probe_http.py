"""One HTTP exchange with an endpoint, in the standard library's client, with errors in plain words.

Proxies of the environment are not used and redirects are not followed, so that a key goes where it was meant to go.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from drr.analysis.words import listed
from drr.dynamo.probe_plan import PlannedRequest, ProbeError, ProbePlan, Target
from drr.dynamo.probe_stream import Answer, Event, EventReader, StreamError, error_text

REFUSALS = {
    429: "too many requests",
    503: "service unavailable",
    529: "overloaded",
}
"""HTTP answers that say: not now. Dynamo's router says 529 where a class is full."""

CONNECT_SECONDS = 10.0
CLOSING_SECONDS = 2.0
"""How long an answer may take from its last token to its last byte."""
READ_BYTES = 1 << 16
MOST_ERROR_BYTES = 1 << 16
MOST_MODELS_BYTES = 4 << 20

T = TypeVar("T")
Outcome = Literal["done", "refused", "failed", "unfinished"]


class CallFailedError(Exception):
    """An exchange failed; the text says how, for a person."""

    def __init__(self, text: str, status: int | None = None, outcome: Outcome = "failed") -> None:
        super().__init__(text)
        self.status = status
        self.outcome: Outcome = outcome


def open_connection(target: Target, *, timeout_s: float) -> http.client.HTTPConnection:
    """Connect, with TLS where the address says so. Raises :class:`CallFailedError`."""
    timeout_s = max(0.05, min(timeout_s, CONNECT_SECONDS))
    if target.scheme == "https":
        context = ssl.create_default_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            target.host, target.port, timeout=timeout_s, context=context
        )
    else:
        connection = http.client.HTTPConnection(target.host, target.port, timeout=timeout_s)
    try:
        connection.connect()
    except (OSError, ValueError) as error:
        connection.close()
        raise CallFailedError(in_words(error, target, timeout_s, connecting=True)) from None
    return connection


def in_words(error: Exception, target: Target, limit_s: float, *, connecting: bool = False) -> str:
    """What an error of the client means."""
    name = target.name
    match error:
        case ssl.SSLCertVerificationError():
            return f"TLS: the certificate of {name} is not trusted ({error.verify_message})"
        case ssl.SSLError() if connecting:
            return f"TLS: {name} does not speak it as expected ({error.reason or error}); is it an http address?"
        case socket.gaierror():
            return f"the host name {target.host} is not known"
        case ConnectionRefusedError():
            return f"nothing listens at {name} (connection refused)"
        case TimeoutError() if connecting:
            return f"{name} did not take the connection within {limit_s:g} s"
        case TimeoutError():
            return f"{name} sent nothing for {limit_s:g} s"
        case http.client.RemoteDisconnected():
            return f"{name} closed the connection without an answer"
        case http.client.IncompleteRead():
            return "the answer was cut off in the middle"
        case http.client.HTTPException():
            return f"{name} does not answer in HTTP"
        case ConnectionError():
            return f"{name} cut the connection"
        case UnicodeError():
            return f"the host name {target.host} is not valid"
    return f"{name}: {getattr(error, 'strerror', None) or type(error).__name__}"


@dataclass(slots=True)
class Exchange:
    """One request on its connection. Times are :func:`time.perf_counter` seconds; None where it never happened."""

    plan: ProbePlan
    request: PlannedRequest
    key: str | None
    connection: http.client.HTTPConnection | None = None
    raw: socket.socket | None = None
    sent_s: float | None = None
    first_token_s: float | None = None
    done_s: float | None = None
    status: int | None = None
    tokens: int = 0
    note: str = ""

    def connect(self, deadline_s: float) -> None:
        """Open the connection; raises :class:`CallFailedError`."""
        self.connection = open_connection(self.plan.target, timeout_s=deadline_s - time.perf_counter())
        self.raw = self.connection.sock

    def send(self) -> None:
        """Send the request; raises :class:`CallFailedError`."""
        connection = self.connection
        assert connection is not None
        body = self.plan.body(self.request.row)
        headers = self.plan.headers(self.request.policy_class, self.key)
        self.sent_s = time.perf_counter()
        self._do(lambda: connection.request("POST", self.plan.path, body, headers), self.plan.idle_seconds)

    def read(self, deadline_s: float) -> None:
        """Read the answer to its end; raises :class:`CallFailedError`."""
        connection = self.connection
        assert connection is not None
        self._allow(deadline_s)
        response = self._do(connection.getresponse, self.plan.idle_seconds)
        self.status = response.status
        if response.status != 200:
            raise self._refusal(response)
        if "event-stream" not in (response.getheader("Content-Type") or ""):
            self._read_whole(response)
            return
        reader, answer = EventReader(), Answer()
        while not answer.is_over:
            self._allow(deadline_s)
            try:
                data = self._do(lambda: response.read1(READ_BYTES), self.plan.idle_seconds)
            except CallFailedError:
                if answer.is_finished:
                    break  # all that counts was there
                raise
            self._take(answer, reader.feed(data) if data else reader.end())
            if answer.is_finished:
                deadline_s = min(deadline_s, time.perf_counter() + CLOSING_SECONDS)
            if not data:
                break
        if not answer.is_finished:
            raise CallFailedError("the answer was cut off before its end", self.status)

    def _take(self, answer: Answer, events: Iterable[Event]) -> None:
        now = time.perf_counter()
        try:
            has_text = [answer.take(event) for event in events]
        except StreamError as error:
            raise CallFailedError(self.without_key(str(error)), self.status) from None
        self.tokens = answer.chunks_with_text
        if any(has_text) and self.first_token_s is None:
            self.first_token_s = now
        if answer.is_finished and self.done_s is None:
            self.done_s = now

    def close(self) -> None:
        """Give the connection back."""
        if self.connection is not None:
            self.connection.close()

    def break_off(self) -> None:
        """Wake up whoever reads on this connection; may be called from another thread."""
        if self.raw is not None:
            try:
                self.raw.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _allow(self, deadline_s: float) -> None:
        """Let the next byte take as long as an answer may stand still, and not beyond the deadline."""
        if self.raw is not None:
            self.raw.settimeout(max(0.05, min(self.plan.idle_seconds, deadline_s - time.perf_counter())))

    def _do(self, call: Callable[[], T], limit_s: float) -> T:
        try:
            return call()
        except (OSError, ValueError, http.client.HTTPException) as error:
            # ValueError: the socket was closed under a reader that was told to stop.
            raise CallFailedError(in_words(error, self.plan.target, limit_s), self.status) from None

    def _refusal(self, response: http.client.HTTPResponse) -> CallFailedError:
        status = response.status
        try:
            body = response.read(MOST_ERROR_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError, http.client.HTTPException):
            body = ""
        said = self.without_key(error_text(body))
        words = f"HTTP {status}" + (f": {said}" if said else "")
        if status in REFUSALS:
            return CallFailedError(words if said else f"{words} ({REFUSALS[status]})", status, "refused")
        return CallFailedError(words, status)

    def _read_whole(self, response: http.client.HTTPResponse) -> None:
        """An answer in one piece: it counts as complete, but its first token has no time."""
        body = self._do(lambda: response.read(MOST_MODELS_BYTES), self.plan.idle_seconds)
        answer = Answer()
        try:
            answer.take_json(body.decode("utf-8", "replace"))
        except StreamError as error:
            raise CallFailedError(self.without_key(str(error)), self.status) from None
        self.done_s = time.perf_counter()
        self.tokens = answer.chunks_with_text
        self.note = "the answer was not streamed, so its first token has no time"

    def without_key(self, text: str) -> str:
        """Text of the endpoint, which may quote the key it was given."""
        return text.replace(self.key, "***") if self.key else text


def check_endpoint(plan: ProbePlan, key: str | None) -> str | None:
    """Ask once which models there are, before any load. Returns a remark where that could not be found out.

    Raises :class:`ProbeError` where the endpoint cannot be reached, refuses the key, or does not serve the model.
    """
    target = plan.target
    try:
        connection = open_connection(target, timeout_s=CONNECT_SECONDS)
    except CallFailedError as error:
        raise ProbeError(str(error)) from None
    try:
        connection.request("GET", f"{target.base_path}/models", headers=plan.headers("", key))
        response = connection.getresponse()
        body = response.read(MOST_MODELS_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ProbeError(in_words(error, target, CONNECT_SECONDS)) from None
    finally:
        connection.close()
    if response.status in (401, 403):
        raise ProbeError(
            f"{target.name} refuses access (HTTP {response.status}): "
            + ("it does not take the key" if key else "it wants a key, from an environment variable")
        )
    if 300 <= response.status < 400:
        raise ProbeError(f"{target.name} sends us elsewhere (HTTP {response.status}); name the address it moved to")
    try:
        listed_models = [str(model["id"]) for model in json.loads(body)["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"{target.name} lists no models (HTTP {response.status}), so the model's name was not checked"
    if plan.model not in listed_models:
        there = listed(listed_models) if listed_models else "none"
        raise ProbeError(f"{target.name} serves no model {plan.model!r}; it lists: {there}")
    return None
