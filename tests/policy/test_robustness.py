"""Whatever the text, reading it answers, and soon: a document or errors, never another exception."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.policy import PolicyReading, dump_policy, load_policy, read_policy
from drr.policy.source_text import MAX_BYTES
from tests.policy.texts import CACHED, PREMIUM, PROFILE, with_line, with_quantum

CPU_SECONDS = 4.0  # a quiet machine needs 0.7 at most; a loaded one inflates even CPU time


def answered(text: str | bytes) -> PolicyReading:
    """Read the text and check that the answer keeps its promises."""
    start = time.process_time()
    reading = read_policy(text)
    assert time.process_time() - start < CPU_SECONDS
    assert reading.ok is (not reading.errors)
    assert reading.ok is (reading.document is not None)
    assert all(each.line >= 1 and each.column >= 1 and each.message for each in reading.diagnostics)
    assert all(each.text("p") for each in reading.diagnostics)
    places = [(each.line, each.column) for each in reading.diagnostics]
    assert places == sorted(places)
    return reading


def filled(start: str, repeated: str, end: str = "") -> str:
    return start + repeated * ((MAX_BYTES - len(start) - len(end)) // len(repeated)) + end


def alias_bomb(levels: int) -> str:
    lines = ["request_classifier:", "  type: x", "  parameters:", "    a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"    a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)]
    return "\n".join(lines)


def shared_profile(models: int) -> str:
    classes = ", ".join(f"{{name: c{index}, quantum: 1}}" for index in range(1000))
    profile = PROFILE.replace("policy_classes: [", f"policy_classes: [{classes}, ")
    return f"models:\n  a: &p {profile}\n" + "".join(f"  m{index}: *p\n" for index in range(models))


HOSTILE = {
    "open lists": "[" * MAX_BYTES,
    "open mappings": "{" * MAX_BYTES,
    "open lists, spread": filled("", "[\n"),
    "dashes": filled("", "- "),
    "question marks": filled("", "? "),
    "staircase": "".join(f"{' ' * depth}a:\n" for depth in range(1000)),
    "long plain scalar": filled("a: ", "x"),
    "long quoted scalar": filled("a: '", "x", "'"),
    "long key": filled('"', "k", '": 1'),
    "long number": filled("x", "9"),
    "long quantum": with_quantum("9" * 900_000),
    "alias bomb": alias_bomb(30),
    "models that share a profile": shared_profile(60_000),
    "many values": filled("router: {a: [", "x,", "]}"),
    "many keys": "{" + ",".join(f"k{index}" for index in range(110_000)) + "}",
    "one key many times": filled("{", "a,", "}"),
    "many classes": "default_policy_family: a\nuncached_isl_buckets: [{min_tokens: 0, bucket: b}]\npolicy_classes:\n"
    + "".join(f"- {{name: c{index}, quantum: 1}}\n" for index in range(18_000)),
    "many families and buckets": "default_policy_family: a\nuncached_isl_buckets:\n"
    + "".join(f"- {{min_tokens: {index}, bucket: b{index}}}\n" for index in range(9_000))
    + "policy_classes:\n"
    + "".join(
        f"- {{name: c{index}, policy_family: f{index}, cache_bucket: b{index}, quantum: 1}}\n" for index in range(9_000)
    ),
    "many unknown buckets": CACHED
    + "".join(
        f"  - {{name: c{index}, policy_family: f{index}, cache_bucket: u{index}, quantum: 1}}\n"
        for index in range(9_000)
    ),
    "many anchors": "[" + "".join(f"&a{index} x," for index in range(80_000)) + "*b]",
    "many aliases": "a: &a x\n" + "*a : b\n" * 90_000,
    "tabs": "\t" * MAX_BYTES,
    "blanks": " " * MAX_BYTES,
    "line breaks": "\n" * MAX_BYTES,
    "carriage returns": "\r" * MAX_BYTES,
    "comments": filled("", "#\n"),
    "documents": filled("", "---\n"),
    "directives": filled("", "%YAML 1.2\n"),
    "tags": "!" * MAX_BYTES,
    "anchors": "&" * MAX_BYTES,
    "quotes": '"' * MAX_BYTES,
    "folded lines": filled("a: >\n", " x\n"),
    "words on lines": filled("", "a\n"),
    "NUL at the end": filled("", "a", "\0"),
    "one byte too many": "a" * (MAX_BYTES + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_answered_soon(name: str) -> None:
    assert not answered(HOSTILE[name]).ok


@pytest.mark.parametrize(
    "text",
    [
        with_quantum("0x" + "0" * 900_000 + "5"),
        with_line("prefill_busy_threshold_frac: 0." + "9" * 900_000),
        f"models: {{? {'m' * 900_000} : {PROFILE}}}",
        "models:\n" + f"  m: {PROFILE}\n" * 4_000,
    ],
    ids=["quantum", "fraction", "model", "one model many times"],
)
def test_very_long_values_are_fine_where_they_are_right(text: str) -> None:
    assert answered(text).ok


@pytest.mark.parametrize("size", [MAX_BYTES - 1, MAX_BYTES])
def test_a_policy_of_just_a_mebibyte_is_read(size: int) -> None:
    assert answered(PREMIUM + "#" * (size - len(PREMIUM))).ok


def test_a_thousand_classes_are_read_in_a_moment() -> None:
    classes = "".join(
        f"  - {{name: c{index}, quantum: {index + 1}, prefill_busy_threshold: 5}}\n" for index in range(1000)
    )
    assert answered(PREMIUM + classes).ok


@given(st.text(max_size=200))
def test_random_text_is_answered(text: str) -> None:
    answered(text)


@given(st.binary(max_size=200))
def test_random_bytes_are_answered(data: bytes) -> None:
    answered(data)


@given(st.text("ab:-[]{},&*!|>'\"%@`#?~0. \t\n\r\\<", max_size=60))
def test_random_punctuation_is_answered(text: str) -> None:
    answered(text)


PIECES = [
    "~",
    "null",
    "[a]",
    "{a: b}",
    "&x a",
    "*x",
    "!!int 5",
    "!a b",
    "'",
    '"',
    "\t",
    ": ",
    "- ",
    "? ",
    "<<",
    "|-\n  a",
    "# c",
    "1e3",
]


@given(
    text=st.sampled_from([PREMIUM, CACHED, f"models: {{m: {PROFILE}}}\nrouter: {{a: b}}\n"]),
    edits=st.lists(
        st.tuples(st.integers(0, 600), st.integers(0, 12), st.sampled_from(PIECES) | st.text(max_size=3)), max_size=4
    ),
)
def test_damaged_policies_are_answered_and_what_is_accepted_survives_writing(
    text: str, edits: list[tuple[int, int, str]]
) -> None:
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length :]
    reading = answered(text)
    if reading.document is not None:
        assert load_policy(dump_policy(reading.document)) == reading.document
