"""Python's half of the editor: whose text counts, where findings are marked, and that help covers every key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from drr.policy import Diagnostic, read_policy
from drr.policy.profiles import BUCKET_FIELDS, CLASS_FIELDS, PROFILE_FIELDS
from drr.policy.reading import _ROOT_FIELDS
from drr.policy.samples import sample
from drr.policy.sections import ROUTER_SETTINGS
from drr.ui.editor import KEY_HELP
from drr.ui.editor.exchange import Exchange
from drr.ui.editor.marks import marks
from drr.ui.editor.spec_help import SPEC_HELP
from drr.workload import spec_fields
from drr.workload.experiment import SpecWorkload
from drr.workload.scenarios import SCENARIOS
from drr.workload.spec_fields import STREAM_FIELDS
from drr.workload.spec_reading import _SPEC_FIELDS
from tests.support import ROOT


def edit(text: str, seq: int, rev: int = 0, run: int = 0) -> dict[str, Any]:
    return {"text": text, "seq": seq, "rev": rev, "run": run}


def test_newer_typing_is_taken_and_older_is_not() -> None:
    exchange = Exchange("a")
    assert exchange.take(edit("ab", 1))
    assert exchange.take(edit("abc", 3))
    assert not exchange.take(edit("ab", 2))
    assert not exchange.take(edit("abc", 3))
    assert not exchange.take(None)
    assert exchange.text == "abc"


def test_typing_that_knows_nothing_of_a_replacement_waits_for_the_merge() -> None:
    exchange = Exchange("a", shown="a")
    exchange.put("A")
    assert not exchange.take(edit("ab", 1, rev=0, run=1))
    assert exchange.text == "A"
    assert not exchange.take_run()
    assert exchange.take(edit("Ab", 2, rev=1, run=1))
    assert exchange.text == "Ab"
    assert exchange.take_run(), "the run asked for with the text put aside is not lost"
    assert not exchange.take_run()


def test_what_was_shown_last_is_no_new_text() -> None:
    exchange = Exchange("a", shown="a")
    exchange.take(edit("ab", 1))
    exchange.show("a")
    assert (exchange.text, exchange.rev) == ("ab", 0)
    exchange.show("ab")
    assert exchange.rev == 0
    exchange.show("a")
    assert (exchange.text, exchange.rev) == ("a", 1)


def test_a_text_is_put_once() -> None:
    exchange = Exchange("a", shown="a")
    exchange.put("b")
    exchange.put("b")
    exchange.show("b")
    assert exchange.rev == 1


def place(text: str, part: str, severity: Any = "error") -> Diagnostic:
    before = text[: text.index(part)]
    return Diagnostic(
        severity, before.count("\n") + 1, len(before) - before.rfind("\n"), "", "wrong", "right", "better"
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("quantum: -4 # c", "-4"),
        ("a: {quantum: -4, b: 1}", "-4"),
        ("a: {b: [x, -4]}", "-4"),
        ("name: 'a b#c' # d", "'a b#c'"),
        ('name: "a\\"b" # d', '"a\\"b"'),
        ("name: some plain words  # c", "some plain words"),
        ("quantumm: 1", "quantumm"),
        ("😀: x\nname: 😀😀 y", "😀😀 y"),
        ("a:b: 1", "a:b"),
    ],
)
def test_a_mark_covers_the_word_at_its_place(text: str, word: str) -> None:
    (mark,) = marks(text, [place(text, word)])
    units = text.encode("utf-16-le")
    assert units[2 * mark["from"] : 2 * mark["to"]].decode("utf-16-le") == word
    assert (mark["severity"], mark["message"], mark["allowed"], mark["suggestion"]) == (
        *("error", "wrong", "right"),
        "better",
    )


@given(text=st.text("aé\U0001f600 \n", max_size=60), data=st.data())
def test_marks_count_as_javascript_does(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    line = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, len(lines[line])))
    (mark,) = marks(text, [Diagnostic("error", line + 1, column + 1, "", "wrong")])
    begin = sum(len(each) + 1 for each in lines[:line]) + column
    units = text.encode("utf-16-le")
    assert units[: 2 * mark["from"]].decode("utf-16-le") == text[:begin]
    marked = units[2 * mark["from"] : 2 * mark["to"]].decode("utf-16-le")
    assert lines[line][column:].startswith(marked)
    assert marked in (marked.rstrip(), " ")
    assert bool(marked) == bool(lines[line][column:].strip())


def test_marks_count_behind_a_byte_order_mark_and_carriage_returns() -> None:
    text = "\ufeffa: 1\r\nquantum: -4\r\n"
    (mark,) = marks(text, [Diagnostic("error", 2, 10, "", "wrong")])
    assert text[mark["from"] : mark["to"]] == "-4"
    (mark,) = marks(text, [Diagnostic("error", 1, 4, "", "wrong")])
    assert text[mark["from"] : mark["to"]] == "1"


@given(st.text(st.sampled_from("ab:{}[],'\"#\n\r\x85 -é😀\ufeff")))
def test_every_finding_of_any_text_has_its_mark_inside_of_the_text(text: str) -> None:
    length = len(text.encode("utf-16-le", "surrogatepass")) // 2
    found = marks(text, [*read_policy(text).diagnostics, Diagnostic("info", 99, 99, "", "far away")])
    assert all(0 <= mark["from"] <= mark["to"] <= length for mark in found)


def test_every_key_a_policy_may_have_is_explained() -> None:
    assert KEY_HELP["file"].keys() == set(_ROOT_FIELDS)
    assert KEY_HELP["profile"].keys() == set(PROFILE_FIELDS)
    assert KEY_HELP["bucket"].keys() == set(BUCKET_FIELDS)
    assert list(KEY_HELP["class"]) == list(CLASS_FIELDS)
    assert KEY_HELP["router"].keys() == set(ROUTER_SETTINGS)


def test_every_key_a_workload_spec_may_have_is_explained() -> None:
    assert SPEC_HELP["file"].keys() == set(_SPEC_FIELDS)
    assert list(SPEC_HELP["streams"]) == list(STREAM_FIELDS)
    assert SPEC_HELP["streams.arrivals"]["shape"].words == tuple(spec_fields.ARRIVALS)
    assert SPEC_HELP["streams.cache_hits"]["shape"].words == tuple(spec_fields.CACHE_HITS)
    for name in ("input_tokens", "output_tokens", "think_time_ms", "cache_hits.turns"):
        assert SPEC_HELP[f"streams.{name}"]["shape"].words == tuple(spec_fields.DISTRIBUTIONS)
    required = {name for name, field in STREAM_FIELDS.items() if field.required}
    assert required == {name for name, each in SPEC_HELP["streams"].items() if not each.default}
    for context in SPEC_HELP.values():
        assert all(each.about.endswith(".") and each.takes for each in context.values())


@pytest.mark.parametrize(
    "workload", [each.experiment.workload for each in SCENARIOS], ids=[each.name for each in SCENARIOS]
)
def test_every_key_of_the_scenarios_is_explained(workload: object) -> None:
    if not isinstance(workload, SpecWorkload):
        return
    for stream in yaml.safe_load(workload.text)["streams"]:
        for key, value in stream.items():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict):
                    assert inner.keys() <= SPEC_HELP[f"streams.{key}"].keys()


@pytest.mark.parametrize("context", KEY_HELP)
def test_help_says_what_a_key_does_what_it_takes_and_what_holds_without_it(context: str) -> None:
    required = {name for name, spec in {**BUCKET_FIELDS, **CLASS_FIELDS}.items() if spec.required}
    for key, each in KEY_HELP[context].items():
        assert each.about.endswith(".")
        assert each.takes
        if context in {"class", "bucket"}:
            assert bool(each.default) == (key not in required), key


def test_the_bundle_is_built_from_the_sources_as_they_are() -> None:
    folder = ROOT / "drr/ui/editor"
    sources = [*sorted((folder / "src").iterdir()), folder / "build.mjs", folder / "package-lock.json"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    bundle = (folder / "assets/editor.js").read_text(encoding="utf-8")
    assert digest in bundle.partition("\n")[0], "`make editor` builds it again"


def test_the_bundle_names_no_other_machine() -> None:
    bundle = (ROOT / "drr/ui/editor/assets/editor.js").read_text(encoding="utf-8")
    assert {
        url for url in re.findall(r"https?://[^\"'`)\s]+", bundle) if not url.startswith("http://www.w3.org/")
    } == set()


# The script that AppTest runs.


def page(run_in_fragment: bool = False) -> None:
    import streamlit as st

    from drr.policy import read_policy
    from drr.policy.samples import sample
    from drr.ui.editor import POLICY_VOCABULARY, editor_text, put_text, yaml_editor

    def changed() -> None:
        st.session_state.heard = editor_text("policy")

    def body() -> None:
        text = editor_text("policy", sample("equal_share").text())
        state = yaml_editor(
            text,
            label="Policy, YAML",
            vocabulary=POLICY_VOCABULARY,
            diagnostics=read_policy(text).diagnostics,
            key="policy",
            on_change=changed,
        )
        st.session_state.state = state
        st.button("Replace", on_click=lambda: put_text("policy", "a: 1\n"))

    (st.fragment(body) if run_in_fragment else body)()


def sent_to_the_browser(app: AppTest) -> dict[str, Any]:
    (element,) = app.get("bidi_component")
    data: dict[str, Any] = json.loads(element.proto.json or element.proto.mixed.json)
    return data


@pytest.mark.parametrize("run_in_fragment", [False, True])
def test_the_editor_goes_through_an_edit_and_a_replacement(run_in_fragment: bool) -> None:
    function: Callable[..., None] = page
    app = AppTest.from_function(function, args=(run_in_fragment,), default_timeout=60).run()
    assert not app.exception
    text = sample("equal_share").text()
    first = sent_to_the_browser(app)
    assert (first["text"], first["seq"], first["rev"]) == (text, 0, 0)
    assert {mark["severity"] for mark in first["findings"]} == {"warning"}
    assert first["vocabulary"]["class"]["quantum"]["about"]

    typed = text.replace("quantum: 512", "quantum: x", 1)
    app.session_state["policy"] = {"edit": edit(typed, 4, run=4)}
    app.run()
    state = app.session_state["state"]
    assert (state.text, state.rev, state.run_requested) == (typed, 0, True)
    answer = sent_to_the_browser(app)
    assert (answer["text"], answer["seq"], answer["vocabulary"]) == (typed, 4, None)
    assert {mark["severity"] for mark in answer["findings"]} == {"error"}
    app.run()
    assert not app.session_state["state"].run_requested

    app.button[0].click().run()
    assert app.session_state["state"].text == "a: 1\n"
    assert sent_to_the_browser(app)["rev"] == 1
