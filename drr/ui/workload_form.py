"""The form of a workload spec: one stream at a time, what it needs first. Every edit stands in the text at once.

A number or name changes in its place, and all around it stays; where the shape of something changes, the text is
written anew.

The form holds the spec it last wrote or read. A text that comes from elsewhere makes new widgets (their keys carry a
revision), so both views always show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from drr.errors import PolicyError, WorkloadError
from drr.policy.edits import set_value
from drr.ui.lab_state import LARGEST_NUMBER
from drr.ui.look import plain
from drr.ui.workload_fields import (
    ARRIVALS,
    CACHE_HITS,
    OUTPUTS,
    PARTS,
    PROMPTS,
    THINKING,
    TURNS,
    Param,
    Part,
    Shape,
    shape_name,
)
from drr.workload.arrivals import Burst, ClosedLoop
from drr.workload.distributions import Fixed
from drr.workload.spec import MAX_REQUESTS, MAX_TOKENS, SessionHits, WorkloadSpec
from drr.workload.spec_reading import NO_HEADER_NAME, dump_spec, read_spec

_NONE = "none"
_HELD = "form:held"
_CHOSEN = "form:chosen"


@dataclass(frozen=True, slots=True)
class _Held:
    """What the form shows: a spec, the text it stands for, and a number that makes the widgets' keys."""

    text: str
    spec: WorkloadSpec
    revision: int


def show() -> bool:
    """Draw the form of the text in ``lab:spec``; False where that cannot be shown as a form."""
    held = _take(st.session_state["lab:spec"])
    if held is None:
        st.info("The text has errors. Mend them there, and the form is here again.")
        return False
    index = _choose(held)
    _Form(held, index).show()
    return True


def _take(text: str) -> _Held | None:
    held: _Held | None = st.session_state.get(_HELD)
    if held is not None and held.text == text:
        return held
    spec = read_spec(text).spec
    if spec is None:
        return None
    held = st.session_state[_HELD] = _Held(text, spec, held.revision + 1 if held else 0)
    return held


def _write(spec: WorkloadSpec, *, text: str | None = None, new_widgets: bool = False) -> None:
    held: _Held = st.session_state[_HELD]
    if text is None or read_spec(text).spec != spec:
        text = dump_spec(spec)
    st.session_state["lab:spec"] = text
    st.session_state[_HELD] = _Held(text, spec, held.revision + new_widgets)


# Which stream


def _choose(held: _Held) -> int:
    streams = held.spec.streams
    key = f"form:{held.revision}:stream"
    if not 0 <= st.session_state.get(key, -1) < len(streams):
        st.session_state[key] = min(st.session_state.get(_CHOSEN, 0), len(streams) - 1)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.pills(
            "Streams",
            range(len(streams)),
            key=key,
            required=True,
            format_func=lambda number: plain(streams[number].name),
            label_visibility="collapsed",
        )
        index: int = st.session_state[key]
        st.session_state[_CHOSEN] = index
        st.button("Add", key="form:add", on_click=_add, args=(index,), type="tertiary", help="A stream like this one.")
        if len(streams) > 1:
            st.button("Remove", key="form:remove", on_click=_remove, args=(index,), type="tertiary")
    return index


def _add(index: int) -> None:
    held: _Held = st.session_state[_HELD]
    names = {each.name for each in held.spec.streams}
    like = held.spec.streams[index]
    name = next(f"{like.name} {number}" for number in range(2, len(names) + 3) if f"{like.name} {number}" not in names)
    streams = (*held.spec.streams, replace(like, name=name))
    _write(replace(held.spec, streams=streams), new_widgets=True)
    st.session_state[_CHOSEN] = len(streams) - 1


def _remove(index: int) -> None:
    held: _Held = st.session_state[_HELD]
    _write(replace(held.spec, streams=held.spec.streams[:index] + held.spec.streams[index + 1 :]), new_widgets=True)


def _edited(text: str, path: str, value: Any) -> str | None:
    """The text with one number or name changed; None where that cannot be done in place."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not (value is None or isinstance(value, int | float | str)):
        return None
    try:
        return set_value(text, path, value)
    except PolicyError:
        return None


class _Form:
    """The widgets of one stream."""

    def __init__(self, held: _Held, index: int) -> None:
        self._held = held
        self._index = index
        self._stream = held.spec.streams[index]
        self._prefix = f"form:{held.revision}:{index}"

    def show(self) -> None:
        """Draw what the stream needs, and the rest under "More"."""
        stream = self._stream
        has_end = not isinstance(stream.arrivals, Burst | ClosedLoop)
        head, count, *duration = st.columns(3 if has_end else 2)
        self._text(head, "Policy header", "header", stream.header or "", placeholder=NO_HEADER_NAME)
        self._whole(count, "Requests", "requests", stream.requests, optional=has_end, least=1, most=MAX_REQUESTS)
        if has_end:
            self._float(duration[0], "Duration, ms", "duration_ms", stream.duration_ms, optional=True)
        self._shaped("Arrivals", ("arrivals",), stream.arrivals, ARRIVALS)
        self._shaped("Prompt tokens", ("input_tokens",), stream.input_tokens, PROMPTS)
        self._shaped("Output tokens", ("output_tokens",), stream.output_tokens, OUTPUTS)
        with st.container():
            if isinstance(stream.cache_hits, SessionHits) or isinstance(stream.arrivals, ClosedLoop):
                self._shaped("Think time, ms", ("think_time_ms",), stream.think_time_ms or Fixed(0), THINKING)
        with st.expander("More: cache hits, pins, priorities, seed"):
            self._more()

    def _more(self) -> None:
        stream = self._stream
        self._shaped("Cache hits", ("cache_hits",), stream.cache_hits, CACHE_HITS)
        with st.container():
            if isinstance(stream.cache_hits, SessionHits):
                self._shaped("Turns", ("cache_hits", "turns"), stream.cache_hits.turns, TURNS)
        name, start = st.columns(2)
        self._text(name, "Name of the stream", "name", stream.name)
        self._float(start, "Start, ms", "start_ms", stream.start_ms)
        columns = st.columns(2)
        for number, part in enumerate(PARTS):
            self._part(columns[number % 2], part)
        missing, unknown = st.columns(2)
        self._share(missing, "Share without header", "missing_header_share", stream.missing_header_share)
        self._share(unknown, "Share with unknown header", "unknown_header_share", stream.unknown_header_share)
        seed, block = st.columns(2)
        spec = self._held.spec
        set_seed: dict[str, Any] = {"on_change": self._set_spec, "args": ("seed",)}
        if spec.seed <= LARGEST_NUMBER:
            seed.number_input("Seed of the workload", 0, LARGEST_NUMBER, spec.seed, key=self._key("seed"), **set_seed)
        else:
            seed.caption(f"Seed of the workload: {spec.seed}")
        set_block: dict[str, Any] = {"on_change": self._set_spec, "args": ("trace_block_size",)}
        size = spec.trace_block_size
        block.number_input(
            "Tokens per prefix block", 1, 1_000_000, size, key=self._key("trace_block_size"), **set_block
        )

    # Widgets

    def _key(self, *path: str) -> str:
        return ":".join((self._prefix, *path))

    def _text(self, place: Any, label: str, name: str, value: str, placeholder: str = "") -> None:
        key = self._key(name)
        place.text_input(label, value, key=key, placeholder=placeholder, on_change=self._set_text, args=(name, key))

    def _whole(
        self, place: Any, label: str, name: str, value: int | None, *, optional: bool, least: int, most: int
    ) -> None:
        key = self._key(name, str(optional))
        _optional_number(place, label, least, most, value, key, self._set, (name,), can_be_empty=optional)

    def _float(self, place: Any, label: str, name: str, value: float | None, *, optional: bool = False) -> None:
        key = self._key(name)
        _optional_number(place, label, 0.0, 1e12, value, key, self._set, (name,), can_be_empty=optional)

    def _share(self, place: Any, label: str, name: str, value: float) -> None:
        key = self._key(name)
        place.number_input(label, 0.0, 1.0, value, 0.05, key=key, format="%g", on_change=self._set, args=((name,), key))

    def _part(self, place: Any, part: Part) -> None:
        value = getattr(self._stream, part.name)
        key = self._key(part.name)
        place.text_input(
            part.label,
            part.write(value) if value else "",
            key=key,
            placeholder=part.example,
            help=f"Share of the requests, a colon, and what they have, as in {part.example}",
            on_change=self._set_part,
            args=(part, key),
        )
        said = place.container()
        if (wrong := st.session_state.get(f"{key}:wrong")) is not None:
            said.error(plain(wrong))

    def _shaped(self, label: str, path: tuple[str, ...], value: Any, shapes: Mapping[str, Shape]) -> None:
        names = list(shapes) if path != ("cache_hits",) else [_NONE, *shapes]
        shown = _NONE if value is None else shape_name(value, shapes)
        params = () if value is None else shapes[shown].params
        key = self._key(*path)
        with st.container():
            first, *rest = st.columns(3 if len(params) > 1 else 2)
            first.selectbox(
                label,
                names,
                names.index(shown),
                key=key,
                format_func=lambda name: name.replace("_", " "),
                on_change=self._set_shape,
                args=(path, key, shapes),
            )
            for number, param in enumerate(params):
                if number >= 2 and number % 3 == 2:
                    rest = [*rest, *st.columns(3)]
                self._param(rest[number], (*path, param.name), param, getattr(value, param.name), shown)

    def _param(self, place: Any, path: tuple[str, ...], param: Param, value: Any, shape: str) -> None:
        key = self._key(*path, shape)
        callback: dict[str, Any] = {"key": key, "on_change": self._set, "args": (path, key)}
        if param.kind in ("whole", "number"):
            low, high = (0, MAX_TOKENS) if param.kind == "whole" else (0.0, 1e12)
            optional = param.optional
            _optional_number(place, param.label, low, high, value, key, self._set, path, can_be_empty=optional)
        elif param.kind == "share":
            place.number_input(param.label, 0.0, 1.0, value, 0.05, format="%g", **callback)
        else:
            convert = int if param.kind == "wholes" else float
            callback = {"key": key, "on_change": self._set_list, "args": (path, key, convert, param)}
            place.text_input(param.label, ", ".join(f"{item:.15g}" for item in value or ()), **callback)
            if (wrong := st.session_state.get(f"{key}:wrong")) is not None:
                place.error(plain(wrong))

    # What edits do

    def _put(self, path: tuple[str, ...], value: Any) -> None:
        """Put one value of the stream into the spec and the text."""
        held: _Held = st.session_state[_HELD]
        streams = list(held.spec.streams)
        changed = _with(streams[self._index], path, value)
        if path == ("header",) and streams[self._index].name == (streams[self._index].header or NO_HEADER_NAME):
            changed = replace(changed, name=value or NO_HEADER_NAME)
        if path == ("arrivals",) and isinstance(value, Burst | ClosedLoop):
            changed = replace(changed, duration_ms=None, requests=changed.requests or 100)
        if not isinstance(changed.arrivals, ClosedLoop) and not isinstance(changed.cache_hits, SessionHits):
            changed = replace(changed, think_time_ms=None)
        streams[self._index] = changed
        text = _edited(held.text, ".".join((f"streams[{self._index}]", *path)), value)
        _write(replace(held.spec, streams=tuple(streams)), text=text)

    def _set(self, path: tuple[str, ...], key: str) -> None:
        self._put(path, st.session_state[key])

    def _set_text(self, name: str, key: str) -> None:
        text: str = st.session_state[key].strip()
        self._put((name,), text or (None if name == "header" else NO_HEADER_NAME))

    def _set_shape(self, path: tuple[str, ...], key: str, shapes: Mapping[str, Shape]) -> None:
        chosen: str = st.session_state[key]
        before: Any = self._stream
        for name in path:
            before = getattr(before, name)
        self._put(path, None if chosen == _NONE else shapes[chosen].value(before))

    def _set_list(self, path: tuple[str, ...], key: str, convert: Callable[[str], Any], param: Param) -> None:
        pieces = st.session_state[key].replace(",", " ").split()
        st.session_state[f"{key}:wrong"] = None
        try:
            values = tuple(map(convert, pieces))
        except ValueError:
            st.session_state[f"{key}:wrong"] = "numbers with commas between them are allowed"
            return
        self._put(path, values or (None if param.optional else param.start))

    def _set_part(self, part: Part, key: str) -> None:
        text: str = st.session_state[key].strip()
        st.session_state[f"{key}:wrong"] = None
        nothing: Any = () if part.name in ("strict_priority", "priority_jump") else None
        try:
            self._put((part.name,), part.read(text) if text else nothing)
        except WorkloadError as error:
            st.session_state[f"{key}:wrong"] = f"{error}; write it as in {part.example}"

    def _set_spec(self, name: str) -> None:
        held: _Held = st.session_state[_HELD]
        value: Any = st.session_state[f"{self._prefix}:{name}"]
        _write(replace(held.spec, **{name: value}), text=_edited(held.text, name, value))


def _optional_number(
    place: Any,
    label: str,
    low: float,
    high: float,
    value: float | None,
    key: str,
    on_change: Callable[..., None],
    path: tuple[str, ...],
    *,
    can_be_empty: bool,
) -> None:
    """A number; a field that may be empty gets its number through the session, else it could not be emptied."""
    form = None if type(low) is int else "%g"
    args = (path, key)
    if can_be_empty:
        if key not in st.session_state:
            st.session_state[key] = value
        place.number_input(
            label, low, high, None, key=key, format=form, placeholder="any", on_change=on_change, args=args
        )
    else:
        place.number_input(label, low, high, value, key=key, format=form, on_change=on_change, args=args)


def _with(value: Any, path: tuple[str, ...], new: Any) -> Any:
    """A frozen value with another value at a path of field names."""
    if not path:
        return new
    inner = getattr(value, path[0])
    if inner is None and path[0] == "think_time_ms" and len(path) > 1:
        inner = Fixed(0)
    return replace(value, **{path[0]: _with(inner, path[1:], new)})
