from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from drr.errors import PolicyError
from drr.policy import dump_policy, load_policy
from drr.policy.samples import SAMPLES, sample
from drr.policy.schema import Profile
from drr.ui.quantum_edits import KEYS, edited, entered, profile_path
from tests.policy.strategies import documents

SEED = sample("premium_4_to_1").text()
MODELS = sample("five_classes_models").text()


def root(text: str) -> Profile:
    return load_policy(text).profile_for()


def put(name: str, key: str, text: str, **more: Any) -> dict[str, Any]:
    return {"what": "set", "name": name, "key": key, "text": text, **more}


def test_setting_a_quantum_changes_this_number_alone() -> None:
    after = edited(SEED, put("premium", "quantum", "2048"), root(SEED))
    assert after == SEED.replace("quantum: 512", "quantum: 2048")


def test_keeping_the_ratio_moves_every_quantum_by_the_same_factor() -> None:
    after = edited(SEED, put("regular", "quantum", "32", keep=True), root(SEED))
    assert [each.quantum for each in root(after).classes] == [128, 32]
    assert re.sub(r"quantum: \d+", "quantum: N", after) == re.sub(r"quantum: \d+", "quantum: N", SEED)


def test_scaling_all_keeps_every_other_byte() -> None:
    after = edited(SEED, {"what": "scale", "up": 5, "down": 4}, root(SEED))
    assert after == SEED.replace("quantum: 512", "quantum: 640").replace("quantum: 128", "quantum: 160")


def test_a_model_has_numbers_of_its_own() -> None:
    document = load_policy(MODELS)
    model = next(iter(document.models))
    path, profile = profile_path(model, document.models), document.profile_for(model)
    name = profile.classes[0].name
    after = load_policy(edited(MODELS, put(name, "quantum", "777"), profile, path))
    assert after.profile_for(model).classes[0].quantum == 777
    assert after.profile_for() == document.profile_for()
    assert profile_path("another", document.models) == ""


def test_an_empty_field_takes_the_key_out_and_a_new_value_puts_it_in() -> None:
    without = edited(SEED, put("premium", "request_queue_limit_per_worker", "  "), root(SEED))
    assert root(without).classes[0].request_queue_limit_per_worker is None
    assert root(without).classes[1].request_queue_limit_per_worker == 1024
    again = edited(without, put("premium", "busy_worker_ratio", "0.5"), root(without))
    assert root(again).classes[0].busy_worker_ratio == 0.5


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("512", "quantum", 512),
        (" 18,446,744,073,709,551,615 ", "quantum", 2**64 - 1),
        ("1 024", "prefill_busy_threshold", 1024),
        ("0", "prefill_busy_threshold", 0),
        ("", "prefill_busy_threshold", None),
        ("1e1", "prefill_busy_threshold_frac", 10.0),
        ("1", "busy_worker_ratio", 1.0),
    ],
)
def test_numbers_are_taken_as_people_write_them(text: str, key: str, value: float | None) -> None:
    assert entered(text, "premium", key) == value


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("0", "quantum", "quantum of premium: “0” is no whole number from 1 to 18,446,744,073,709,551,615"),
        ("", "quantum", "“” is no whole number from 1"),
        ("12x", "quantum", "“12x” is no whole number"),
        ("1,2", "quantum", "“1,2” is no whole number"),
        ("-1", "prefill_busy_threshold", "“-1” is no whole number from 0"),
        ("18446744073709551616", "quantum", "is no whole number from 1 to"),
        ("٣", "quantum", "“٣” is no whole number"),
        ("9" * 5000, "quantum", "is no whole number"),
        ("nan", "prefill_busy_threshold_frac", "“nan” is no number of at least 0"),
        ("inf", "prefill_busy_threshold_frac", "is no number of at least 0"),
        ("0", "busy_worker_ratio", "“0” is no number above 0, at most 1"),
        ("<script>", "busy_worker_ratio", "“<script>” is no number above 0"),
    ],
)
def test_what_is_no_such_number_is_refused_with_what_is_allowed(text: str, key: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        entered(text, "premium", key)
    assert says in str(caught.value)


@pytest.mark.parametrize(("name", "key"), [("gold", "quantum"), ("premium", "name")])
def test_classes_and_keys_that_are_not_there_are_refused(name: str, key: str) -> None:
    with pytest.raises(PolicyError):
        edited(SEED, put(name, key, "5"), root(SEED))


@given(documents, st.data())
def test_an_edit_changes_its_value_and_not_a_byte_else(document: Any, data: st.DataObject) -> None:
    assume(document.root is not None)
    text = "# before\n" + dump_policy(document).replace("quantum: ", "quantum:   ").replace("\n", " # kept\n", 1)
    profile = root(text)
    index = data.draw(st.integers(0, len(profile.classes) - 1))
    value = data.draw(st.integers(1, 2**64 - 1))
    after = edited(text, put(profile.classes[index].name, "quantum", f"{value:,}"), profile)
    number = re.compile(r"(?<=quantum:   )\d+")
    assert number.split(after) == number.split(text)
    before, now = number.findall(text), number.findall(after)
    changed = [place for place, (old, new) in enumerate(zip(before, now, strict=True)) if old != new]
    assert len(changed) == (value != profile.classes[index].quantum)
    assert root(after).classes[index].quantum == value


@pytest.mark.parametrize("each", SAMPLES, ids=lambda each: each.name)
@pytest.mark.parametrize("key", KEYS)
def test_every_key_can_be_set_in_every_class_of_every_sample(each: Any, key: str) -> None:
    text = each.text()
    for index, one in enumerate(root(text).classes):
        after = root(edited(text, put(one.name, key, "1"), root(text)))
        assert getattr(after.classes[index], key) == 1
        assert after.classes[:index] == root(text).classes[:index]


# --- in the page ---------------------------------------------------------------------------------------------------


def page() -> None:
    import streamlit as st

    from drr.policy import read_policy
    from drr.ui import quantum_sliders

    def put_text(text: str) -> None:
        st.session_state["text"] = text

    quantum_sliders.take_edits(lambda: st.session_state["text"], put_text)
    quantum_sliders.show(read_policy(st.session_state["text"]), text=lambda: st.session_state["text"], put=put_text)
    st.text(st.session_state.get("lab:quanta:problem", ""))


def opened(text: str = SEED) -> AppTest:
    test = AppTest.from_function(page, default_timeout=60)
    test.session_state["text"] = text
    return test.run()


def send(test: AppTest, *edits: dict[str, Any]) -> AppTest:
    test.session_state["lab:quanta"] = {"edits": [{**edit, "seq": seq} for seq, edit in enumerate(edits, 1)]}
    return test.run()


def test_five_quick_edits_are_applied_in_order_and_once() -> None:
    values = [str(value) for value in (256, 128, 64, 32, 16)]
    test = opened()
    for count in range(1, 6):
        send(test, *(put("premium", "quantum", value) for value in values[:count]))
        assert root(test.session_state["text"]).classes[0].quantum == int(values[count - 1])
    test.session_state["text"] = SEED  # undone in the editor: what was applied is not applied again
    test.run()
    assert test.session_state["text"] == SEED


def test_a_bad_number_says_why_and_the_edits_around_it_count() -> None:
    test = send(opened(), put("premium", "quantum", "256"), put("regular", "quantum", "x"))
    assert root(test.session_state["text"]).classes[0].quantum == 256
    assert test.text[0].value == "quantum of regular: “x” is no whole number from 1 to 18,446,744,073,709,551,615."


def test_while_the_text_is_invalid_nothing_is_changed_in_it() -> None:
    test = opened()
    test.session_state["text"] = SEED.replace("quantum: 512", "quantum 512")
    test = send(test.run(), put("premium", "quantum", "256"))
    assert not test.exception
    assert test.session_state["text"] == SEED.replace("quantum: 512", "quantum 512")
    assert "the text is not valid at the moment" in test.text[0].value


def test_a_text_without_a_profile_has_no_sliders() -> None:
    assert len(opened("router: {}\n").get("bidi_component")) == 0
    assert len(opened().get("bidi_component")) == 1


def test_the_browser_code_has_no_way_to_write_html() -> None:
    source = (Path(__file__).parents[2] / "drr/ui/quanta/assets/quanta.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", source)
