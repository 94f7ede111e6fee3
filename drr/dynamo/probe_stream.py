"""Reading one streamed answer: server-sent events out of bytes, and what they say about tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST_LINE_BYTES = 1 << 20
SHOWN_CHARACTERS = 200


class StreamError(Exception):
    """An answer that is none: the text says what came instead."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its name (often empty), its data, and comments that stood with it."""

    name: str
    data: str
    comment: str = ""


@dataclass(slots=True)
class EventReader:
    """Takes bytes as they come, cut anywhere, and gives whole events."""

    _rest: bytes = b""
    _name: str = ""
    _data: list[str] = field(default_factory=list)
    _comments: list[str] = field(default_factory=list)

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that ``data`` completes; raises :class:`StreamError` for a line without end."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES:
            raise StreamError("a line of the answer has no end")
        for line in lines:
            text = line.removesuffix(b"\r").decode("utf-8", "replace")
            if not text:
                yield from self._take()
            elif text.startswith(":"):
                self._comments.append(text[1:].strip())
            else:
                key, _, value = text.partition(":")
                value = value.removeprefix(" ")
                if key == "data":
                    self._data.append(value)
                elif key == "event":
                    self._name = value

    def end(self) -> Iterator[Event]:
        """An event that the end of the stream left without its blank line."""
        yield from self.feed(b"\n\n")

    def _take(self) -> Iterator[Event]:
        if self._data or self._name:
            yield Event(self._name, "\n".join(self._data), " ".join(self._comments))
        self._name, self._data, self._comments = "", [], []


@dataclass(slots=True)
class Answer:
    """What an answer's events said so far."""

    chunks_with_text: int = 0
    is_finished: bool = False
    """A finish reason or ``[DONE]`` was there: the answer is whole."""
    is_over: bool = False
    """``[DONE]`` was there: nothing follows."""

    def take(self, event: Event) -> bool:
        """Take one event; True where it brought text. Raises :class:`StreamError` for an error and for garbage."""
        if event.name == "error":
            raise StreamError(f"the endpoint broke off: {clean(event.data or event.comment) or 'no reason given'}")
        if event.data.strip() == "[DONE]":
            self.is_finished = self.is_over = True
            return False
        if not event.data.strip():
            return False
        return self.take_json(event.data)

    def take_json(self, text: str) -> bool:
        """Take one JSON object of the completions or the chat API."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            raise StreamError(f"the answer is no JSON: {clean(text)}") from None
        if not isinstance(data, dict):
            raise StreamError(f"the answer is no JSON object: {clean(text)}")
        if data.get("error"):
            raise StreamError(f"the endpoint broke off: {error_text(text)}")
        choices = data.get("choices")
        if not isinstance(choices, list):
            raise StreamError(f"the answer has no choices: {clean(text)}")
        has_text = False
        for choice in choices:
            if not isinstance(choice, dict):
                raise StreamError(f"a choice of the answer is no object: {clean(text)}")
            has_text = has_text or _has_text(choice)
            self.is_finished = self.is_finished or choice.get("finish_reason") is not None
        self.chunks_with_text += has_text
        return has_text


def _has_text(choice: dict[str, object]) -> bool:
    """Whether a choice brings text; a chat's first piece often names the role alone."""
    piece = choice.get("delta") or choice.get("message") or choice
    if not isinstance(piece, dict):
        return False
    return any(piece.get(name) for name in ("text", "content", "reasoning_content", "reasoning"))


def error_text(body: str) -> str:
    """The message in an error's JSON in any of the usual forms, else the text itself, short and on one line."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return clean(body)
    for _ in range(3):
        if not isinstance(data, dict):
            break
        data = data.get("error") or data.get("message") or data.get("detail") or ""
    return clean(data if isinstance(data, str) and data else body)


def clean(text: str) -> str:
    """Foreign text made short and printable."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * SHOWN_CHARACTERS])
    line = " ".join(line.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]} …"
