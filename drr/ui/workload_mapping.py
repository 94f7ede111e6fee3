"""Which class each request of a trace belongs to: the rule and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from drr.errors import WorkloadError
from drr.policy.schema import Profile
from drr.ui.look import plain
from drr.workload.mapping import MAPPING_KINDS, ClassMapping, MappingKind, possible_headers

WORDS: dict[MappingKind, str] = {
    "as_written": "as the trace says",
    "first_block": "by the first prefix block",
    "column": "by a column",
    "length": "by prompt length",
    "percentage": "by percentage",
    "round_robin": "in turn",
}
_WRONG = "wrong"


def show(names: Iterable[str], profile: Profile | None, *, has_blocks: bool, slot: str = "lab") -> None:
    """Draw the rule that is in ``{slot}:class_mapping``; edits put another one there.

    ``names`` are the columns of the trace, ``has_blocks`` says whether its prompts have prefix blocks.
    """
    mapping: ClassMapping = st.session_state[f"{slot}:class_mapping"]
    headers = possible_headers(profile) if profile is not None else ()
    prefix = f"{slot}:mapping:{st.session_state[f'{slot}:revision']}"
    columns = list(dict.fromkeys(("policy_class", *names)))

    def changed() -> None:
        _changed(slot, prefix, columns, headers)

    chosen, parameter = st.columns(2)
    kinds = [kind for kind in MAPPING_KINDS if kind != "first_block" or has_blocks]
    shown = mapping.kind if mapping.kind in kinds else "as_written"
    chosen.selectbox(
        "Class of each request",
        kinds,
        kinds.index(shown),
        key=f"{prefix}:kind",
        format_func=WORDS.__getitem__,
        on_change=changed,
    )
    _parameter(parameter, mapping, prefix, columns, changed)
    with st.container():
        if mapping.kind != "as_written":
            _headers(mapping, prefix, headers, changed)
        if wrong := st.session_state.get(f"{prefix}:{_WRONG}"):
            st.error(plain(wrong))


def _parameter(place: Any, mapping: ClassMapping, prefix: str, columns: list[str], changed: Callable[[], None]) -> None:
    key = f"{prefix}:{mapping.kind}"
    if mapping.kind == "column":
        at = columns.index(mapping.column) if mapping.column in columns else 0
        place.selectbox("Column", columns, at, key=key, on_change=changed)
    elif mapping.kind == "length":
        text = ", ".join(map(str, mapping.bounds_tokens))
        place.text_input("Bounds, tokens", text, key=key, on_change=changed, help="A prompt below 2048 gets the first.")
    elif mapping.kind == "percentage":
        text = ", ".join(f"{each:g}" for each in mapping.percents)
        shares, seed = place.columns([3, 2])
        shares.text_input("Percentages", text, key=key, on_change=changed, help="One per family, in order; 100 in all.")
        seed.number_input("Seed", 0, 2**31 - 1, mapping.seed, key=f"{key}:seed", on_change=changed)


def _headers(mapping: ClassMapping, prefix: str, headers: tuple[str, ...], changed: Callable[[], None]) -> None:
    """What the rule gives, and to what: the families in order, or by name."""
    key = _key_of_names(prefix, mapping.kind, mapping.column)
    with st.expander("Families, and who gets which"):
        st.text_input(
            "Families or classes, in order",
            ", ".join(mapping.headers),
            key=f"{key}:headers",
            placeholder=", ".join(headers),
            on_change=changed,
            help="Empty: those of the policy, in its order.",
        )
        if mapping.kind in ("first_block", "column"):
            st.text_area(
                "Who gets which",
                "\n".join(f"{value}: {header or ''}".strip() for value, header in mapping.given),
                key=f"{key}:given",
                height=80,
                placeholder="46: premium",
                on_change=changed,
                help="One value and its family per line. Empty: the most frequent value gets the first family.",
            )
        if mapping.kind in ("first_block", "column", "percentage"):
            st.text_input(
                "Everybody else",
                mapping.default or "",
                key=f"{key}:default",
                placeholder="no header: the default family",
                on_change=changed,
            )


def _changed(slot: str, prefix: str, columns: list[str], headers: tuple[str, ...]) -> None:
    """Make the rule of what the widgets hold; one that cannot be is named and leaves the last one in place."""
    state = st.session_state
    kind: MappingKind = state[f"{prefix}:kind"]
    before: ClassMapping = state[f"{slot}:class_mapping"]
    state[f"{prefix}:{_WRONG}"] = None
    try:
        state[f"{slot}:class_mapping"] = (
            _first(kind, columns, len(headers)) if kind != before.kind else _read(kind, prefix, before)
        )
    except WorkloadError as error:
        state[f"{prefix}:{_WRONG}"] = str(error)


def _first(kind: MappingKind, columns: list[str], families: int) -> ClassMapping:
    """A rule of a kind to start with, that fits so many families."""
    count = max(families, 1)
    match kind:
        case "column":
            return ClassMapping(kind, column=columns[0])
        case "length":
            return ClassMapping(kind, bounds_tokens=tuple(2048 * 4**i for i in range(max(count - 1, 1))))
        case "percentage":
            each = float(100 // count)
            return ClassMapping(kind, percents=(100.0 - each * (count - 1), *[each] * (count - 1)))
        case _:
            return ClassMapping(kind)


def _read(kind: MappingKind, prefix: str, before: ClassMapping) -> ClassMapping:
    state = st.session_state
    values: dict[str, Any] = {"seed": state.get(f"{prefix}:{kind}:seed", before.seed)}
    parameter: str = state.get(f"{prefix}:{kind}") or ""
    if kind == "column":
        values["column"] = parameter
    elif kind == "length":
        values["bounds_tokens"] = _numbers("bounds", parameter, int)
    elif kind == "percentage":
        values["percents"] = _numbers("percentages", parameter, float)
    key = _key_of_names(prefix, kind, before.column)
    values["headers"] = tuple(_names(state.get(f"{key}:headers", "")))
    values["default"] = state.get(f"{key}:default", "").strip() or None
    if kind != "column" or parameter == before.column:  # what was said of one column says nothing about another
        values["given"] = tuple(_pairs(state.get(f"{key}:given", "")))
    return ClassMapping(kind, **values)


def _key_of_names(prefix: str, kind: MappingKind, column: str) -> str:
    """Fields of another rule or column are other fields: what stood in them does not come along."""
    return f"{prefix}:{kind}:{column}"


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _numbers(what: str, text: str, convert: Callable[[str], Any]) -> tuple[Any, ...]:
    try:
        return tuple(map(convert, text.replace(",", " ").split()))
    except ValueError:
        raise WorkloadError(f"{what} {text!r}: numbers with commas between them are allowed") from None


def _pairs(text: str) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        value, colon, header = line.rpartition(":")
        if not colon or not value.strip():
            raise WorkloadError(f"line {number}: {line.strip()!r}; a value, a colon and a family are needed")
        found.append((value.strip(), header.strip() or None))
    return found
