"""Writing a policy back: what is written reads as the same document."""

from __future__ import annotations

import pytest
from hypothesis import given

from drr.policy import PolicyDocument, dump_policy, load_policy, read_policy
from drr.policy.samples import SAMPLES, Sample
from tests.policy.strategies import documents
from tests.policy.texts import PREMIUM


def test_a_canonical_text_is_written_as_it_was_read() -> None:
    assert dump_policy(load_policy(PREMIUM)) == PREMIUM


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample.name))
def test_samples_survive_being_written_back(sample: Sample) -> None:
    document = load_policy(sample.text())
    assert load_policy(dump_policy(document)) == document


def kinds(data: object) -> str:
    """The data with every kind visible (1, 1.0 and true differ) and the order of keys of no account."""
    if isinstance(data, dict):
        return "{" + ", ".join(sorted(f"{kinds(key)}: {kinds(value)}" for key, value in data.items())) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(kinds, data)) + "]"
    return repr(data)


@given(documents)
def test_what_is_written_reads_as_the_same_document(document: PolicyDocument) -> None:
    reading = read_policy(dump_policy(document))
    assert reading.errors == ()
    assert reading.document is not None
    assert reading.document == document
    assert kinds(reading.document.sections) == kinds(document.sections)
    canonical = dump_policy(reading.document)
    assert dump_policy(load_policy(canonical)) == canonical


@pytest.mark.parametrize(
    "name", ["no", "1.5", "0x1F", "null", "true", "on", "~", "a: b", "日本", "\u2028\x00\ud7ff", " a ", "#", "'", '"']
)
def test_a_model_of_any_name_survives(name: str) -> None:
    document = PolicyDocument(None, {name: load_policy(PREMIUM).profile_for()})
    assert load_policy(dump_policy(document)) == document


def test_keys_that_are_lists_are_kept_as_tuples() -> None:
    text = "request_classifier: {type: x, parameters: {[a, [1, ~]]: {b: []}, ? {c: 1} : 2}}\n"
    document = load_policy(text)
    assert document.sections["request_classifier"] == {
        "type": "x",
        "parameters": {("a", (1, None)): {"b": []}, (("c", 1),): 2},
    }
    assert load_policy(dump_policy(document)) == document


def test_names_that_other_tools_would_misread_are_quoted() -> None:
    text = dump_policy(load_policy(PREMIUM.replace("name: regular", "name: no").replace("name: premium", "name: 0x1F")))
    assert 'name: "no"' in text
    assert 'name: "0x1F"' in text
