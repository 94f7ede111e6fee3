"""What a target is, and how inputs are made: good ones, damaged at random places."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

LONGEST_ERROR = 20_000
CORPUS = Path(__file__).resolve().parent / "corpus"


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads what comes from outside.

    ``check`` takes one input of ``inputs`` (bytes, or what JSON holds) and raises where the answer is not one of those
    that are promised. ``cpu_seconds`` is what one input may cost at most.
    """

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], object]
    cpu_seconds: float = 10.0

    def corpus(self) -> list[tuple[str, Any]]:
        """Inputs that were trouble once: why each is kept, and the input."""
        path = CORPUS / f"{self.name}.json"
        if not path.is_file():
            return []
        return [(each["why"], unpacked(each["input"])) for each in json.loads(path.read_text(encoding="utf-8"))]


def packed(value: Any) -> Any:
    """An input as JSON can hold it."""
    if isinstance(value, bytes):
        try:
            return {"text": value.decode()}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    return {"data": value}


def unpacked(value: Any) -> Any:
    """The input that :func:`packed` was given. ``repeat`` keeps long ones short: pieces with their numbers."""
    if "text" in value:
        return value["text"].encode()
    if "base64" in value:
        return base64.b64decode(value["base64"])
    if "repeat" in value:
        return "".join(piece * number for piece, number in value["repeat"]).encode()
    return value["data"]


def must_be_clear(error: Exception, *, without: str = "") -> None:
    """An error says something that a person can read, however long the input was, and keeps the secret it knows."""
    assert 0 < len(str(error)) <= LONGEST_ERROR
    assert not without or without not in str(error)


# Text

LONGEST_TO_REPEAT = 100_000
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORD = re.compile(r"[\w.-]+")
NUMBERS = (
    *("0", "-0", "-1", "1", "0.5", "1e3", "1e400", "-1e400", "9" * 20, "9" * 400, "9" * 5000, "1e-400", "0x1F", "0o7"),
    *("NaN", "nan", ".inf", "-.inf", "Infinity", "1_000", "1,000", "٣", "²", "18446744073709551616", "4294967296"),
    *("9007199254740993", "1" + "0" * 18, "true", "null", "~", '""', "'x'"),
)
PIECES = (
    *("\0", "\t", "\r", "\n", "\r\n", "\u2028", "\ufeff", "\x85", " ", "é", "日本", "\U0001f600", "'", '"', "\\", "`"),
    *("[", "]", "{", "}", ",", ":", ": ", "- ", "? ", "|", ">", "&a ", "*a", "!!int ", "<<", "#", "%", "@", "=", "+-"),
    *("[" * 50, "{" * 50, "a" * 300, "\ud800"),
)


@st.composite
def texts(draw: DrawFn, seeds: Sequence[str], words: Sequence[str] = ()) -> bytes:
    """One of some good texts, with pieces put in, taken out, doubled, swapped with others; sometimes broken as bytes.

    ``words`` are of the language: keys and values that may stand where others do.
    """
    text = draw(st.sampled_from(seeds))
    pieces = st.sampled_from((*PIECES, *NUMBERS, *words)) | st.text(max_size=4)
    for _ in range(draw(st.integers(0, 5))):
        text = _edited(draw, text, seeds, pieces)
    data = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=4)) + data[at + draw(st.integers(0, 4)) :]
    return data


def _edited(draw: DrawFn, text: str, seeds: Sequence[str], pieces: SearchStrategy[str]) -> str:
    at = draw(st.integers(0, len(text)))
    match draw(st.sampled_from(("number", "word", "put", "replace", "line", "cut", "double", "other"))):
        case "put":
            return text[:at] + draw(pieces) + text[at:]
        case "replace":
            return text[:at] + draw(pieces) + text[at + draw(st.integers(0, 12)) :]
        case "number":
            return _other_token(draw, text, _NUMBER, st.sampled_from(NUMBERS))
        case "word":
            return _other_token(draw, text, _WORD, pieces)
        case "line":
            lines = text.splitlines(keepends=True) or [""]
            line = draw(st.integers(0, len(lines) - 1))
            # A text of one line would grow by the same factor every time.
            many = 40 if len(text) < LONGEST_TO_REPEAT else 2
            lines[line : line + 1] = draw(st.sampled_from(([], [lines[line]] * 2, [lines[line]] * many)))
            return "".join(lines)
        case "cut":
            return text[:at]
        case "double":
            return text[:at] + text
        case _:
            other = draw(st.sampled_from(seeds))
            return text[:at] + other[draw(st.integers(0, len(other))) :]


def _other_token(draw: DrawFn, text: str, token: re.Pattern[str], others: SearchStrategy[str]) -> str:
    """One of the words or numbers in a text exchanged for another one."""
    found = [match.span() for match in token.finditer(text)]
    if not found:
        return text + draw(others)
    start, end = draw(st.sampled_from(found))
    return text[:start] + draw(others) + text[end:]


# JSON

SCALARS: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from((10**6, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, 1e308, -1e308, 1e-320)),
    st.sampled_from((float("inf"), float("-inf"), float("nan"))),
    st.text(max_size=6),
    st.sampled_from((*(number for number in NUMBERS if len(number) < 50), "\ud800", "\0", "<b>", "=1+1", "x" * 2000)),
)
ANYTHING: SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def messages(draw: DrawFn, seeds: Sequence[Any], words: Sequence[Any] = ()) -> Any:
    """One of some good values as JSON holds them, with parts exchanged, taken out and put in."""
    data = deepcopy(draw(st.sampled_from(list(seeds))))
    values = ANYTHING | st.sampled_from(list(words)) if words else ANYTHING
    for _ in range(draw(st.integers(0, 4))):
        places = list(_places(data))
        if not places:
            return draw(values)
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(("value", "value", "value", "out", "more", "swap"))):
            case "value":
                holder[key] = draw(values)
            case "out":
                del holder[key]
            case "more" if isinstance(holder, dict):
                holder[draw(st.text(max_size=5) | st.sampled_from([str(word) for word in words] or ["x"]))] = draw(
                    values
                )
            case "more":
                holder[key:key] = [holder[key]] * draw(st.sampled_from((1, 2, 300)))
            case "swap":
                other, name = draw(st.sampled_from(places))
                if name in other if isinstance(other, dict) else name < len(other):
                    holder[key] = deepcopy(other[name])
    return data


def _places(data: Any) -> Any:
    """Every container in some data with every key or index it has."""
    if isinstance(data, dict):
        for key in list(data):
            yield data, key
            yield from _places(data[key])
    elif isinstance(data, list):
        for index, item in enumerate(data[:20]):
            yield data, index
            yield from _places(item)
