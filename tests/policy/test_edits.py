"""Changing one value of a policy text: the value changes, and not one other character."""

from __future__ import annotations

import random
import string
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drr.errors import PolicyError
from drr.policy import PolicyDocument, Position, load_policy, read_policy
from drr.policy.edits import scale_quanta, set_value
from drr.policy.samples import sample
from drr.policy.schema import MAX_UNSIGNED
from drr.policy.yaml12 import Mapping, Sequence, compose
from tests.policy.strategies import profiles

SEED = sample("premium_4_to_1").text()
OPTIONAL_NUMBERS = (
    "prefill_busy_threshold",
    "request_queue_limit_per_worker",
    "raw_isl_token_queue_limit_per_worker",
    "cached_token_queue_limit_per_worker",
)
COMMENT_CHARACTERS = string.ascii_letters + string.digits + " :{}[],&*'\"é😀-"


class Layout:
    """Writes plain data as YAML in a layout of its own: block or flow, quotes, comments, anchors, line ends.

    One seed instead of a draw for each choice: there are hundreds of them in a text.
    """

    def __init__(self, seed: int, *, with_anchors: bool) -> None:
        self.random = random.Random(seed)
        self.choice = self.random.choice
        self.with_anchors = with_anchors
        self.anchors: dict[str, str] = {}
        self.newline = self.choice(["\n", "\n", "\r\n"])

    def comment(self) -> str:
        return "# " + "".join(self.random.choices(COMMENT_CHARACTERS, k=self.random.randrange(12)))

    def once_in(self, count: int) -> bool:
        return self.random.randrange(count) == 0

    def document(self, data: dict[str, Any]) -> str:
        text = self.noise("") + self.block(data, 0)
        if self.once_in(2):
            text = text.rstrip("\r\n")  # no line end at the end of the file
        return ("\ufeff" if self.once_in(6) else "") + text

    def scalar(self, value: Any) -> str:
        if isinstance(value, str):
            written = self.choice([f"'{value}'", f'"{value}"'])
        elif isinstance(value, int):
            written = self.choice([str(value), f"+{value}", hex(value)])
        else:
            written = repr(value)
        if not self.with_anchors or self.once_in(2):
            return written
        if (known := repr(value)) in self.anchors:
            return f"*{self.anchors[known]} "
        self.anchors[known] = f"a{len(self.anchors)}"
        return f"&{self.anchors[known]} {written}"

    def key(self, key: str) -> str:
        return self.choice([f'"{key}"'] if ": " in key else [key, key, f'"{key}"']) + self.choice([": ", ":   "])

    def tail(self) -> str:
        return self.choice(["", "", "  ", f" {self.comment()}"]) + self.newline

    def noise(self, indent: str) -> str:
        return self.choice(["", "", self.newline, f"  {self.newline}", indent + self.comment() + self.newline])

    def flow(self, value: Any) -> str:
        gap = self.choice(["", " ", "  ", self.newline + " " * 20])
        comma = self.choice([", ", " , ", f", # {gap.strip()}c{self.newline}{' ' * 20}"])
        if isinstance(value, dict):
            inner = comma.join(self.key(key) + self.flow(each) for key, each in value.items())
            return "{" + gap + inner + (gap or " ") + "}"
        if isinstance(value, list):
            return "[" + gap + comma.join(map(self.flow, value)) + gap + "]"
        return self.scalar(value)

    def value(self, value: Any, column: int) -> str:
        """What stands behind a colon, with the line end."""
        if not isinstance(value, dict | list) or self.once_in(3):
            return self.flow(value) + self.tail()
        deeper = column + self.random.randint(1, 4)
        return self.tail() + (self.block(value, deeper) if isinstance(value, dict) else self.items(value, deeper))

    def block(self, data: dict[str, Any], column: int) -> str:
        indent = " " * column
        lines = [indent + self.key(key) + self.value(each, column) + self.noise(indent) for key, each in data.items()]
        return "".join(lines)

    def items(self, items: list[Any], column: int) -> str:
        text = ""
        for item in items:
            text += self.noise(" " * column) + " " * column + "-" + " " * (gap := self.random.randint(1, 3))
            if isinstance(item, dict) and not self.once_in(3):
                text += self.block(item, column + 1 + gap).lstrip()
            else:
                text += self.flow(item) + self.tail()
        return text


def as_data(document: PolicyDocument, shuffle: random.Random) -> dict[str, Any]:
    def shuffled(pairs: dict[str, Any]) -> dict[str, Any]:
        return dict(shuffle.sample(list(pairs.items()), len(pairs)))

    def profile(each: Any) -> dict[str, Any]:
        classes = [
            {key: value for key in each.__slots__ if (value := getattr(each, key)) is not None} for each in each.classes
        ]
        keys = {
            "default_policy_family": each.default_policy_family,
            "uncached_isl_buckets": [{"min_tokens": b.min_tokens, "bucket": b.name} for b in each.buckets],
            "policy_classes": [shuffled(c) for c in classes],
        }
        return shuffled(keys)

    data: dict[str, Any] = {} if document.root is None else profile(document.root)
    if document.models:
        data["models"] = {name: profile(each) for name, each in document.models.items()}
    return data


@st.composite
def laid_out_policies(draw: st.DrawFn, *, with_anchors: bool = False) -> str:
    models = draw(st.dictionaries(st.sampled_from(["m", "a/b-1.5", "x y", "llama: 3"]), profiles(), max_size=1))
    document = PolicyDocument(draw(profiles()), models)
    layout = Layout(draw(st.integers(0, 2**32)), with_anchors=with_anchors)
    text = layout.document(as_data(document, layout.random))
    assert load_policy(text) == document, text
    return text


@st.composite
def a_class(draw: st.DrawFn, text: str) -> tuple[str, str | None, int]:
    """The path of a class somewhere in the text, its model and its place."""
    document = load_policy(text)
    model = draw(st.sampled_from([None, *document.models]))
    index = draw(st.integers(0, len(document.profile_for(model).classes) - 1))
    start = f"policy_classes[{index}]"
    if model is not None:
        start = next(path for path in read_policy(text).positions if path.startswith("models") and path.endswith(start))
    return start, model, index


def changed(text: str, model: str | None, index: int, **values: Any) -> PolicyDocument:
    document = load_policy(text)
    profile = document.profile_for(model)
    classes = list(profile.classes)
    classes[index] = replace(classes[index], **values)
    profile = replace(profile, classes=tuple(classes))
    if model is None:
        return replace(document, root=profile)
    return replace(document, models={**document.models, model: profile})


def span(text: str, at: Position) -> tuple[int, int]:
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    starts = [sum(map(len, lines[:line])) + text.startswith("\ufeff") for line in range(len(lines) + 1)]
    return starts[at.line - 1] + at.column - 1, starts[at.end_line - 1] + at.end_column - 1


@given(st.data(), laid_out_policies(), st.integers(1, MAX_UNSIGNED))
def test_a_number_is_replaced_and_no_other_character_changes(data: st.DataObject, text: str, quantum: int) -> None:
    path, model, index = data.draw(a_class(text))
    start, end = span(text, read_policy(text).positions[f"{path}.quantum"])
    edited = set_value(text, f"{path}.quantum", quantum)
    assert edited == text[:start] + str(quantum) + text[end:]
    assert load_policy(edited) == changed(text, model, index, quantum=quantum)


@given(st.data(), laid_out_policies(), st.sampled_from(OPTIONAL_NUMBERS), st.integers(0, MAX_UNSIGNED))
def test_a_new_key_is_put_in_and_taken_out_again(data: st.DataObject, text: str, key: str, value: int) -> None:
    path, model, index = data.draw(a_class(text))
    assume(getattr(load_policy(text).profile_for(model).classes[index], key) is None)
    added = set_value(text, f"{path}.{key}", value)
    assert load_policy(added) == changed(text, model, index, **{key: value})
    assert is_one_span_longer(added, text)
    removed = set_value(added, f"{path}.{key}", None)
    assert load_policy(removed) == load_policy(text)
    if not text.endswith(("\n", "\r")) and removed != text:
        removed = removed.rstrip("\r\n")  # the line end that the new last line needed
    assert removed == text


@given(st.data(), laid_out_policies(), st.sampled_from(["queue_policy", *OPTIONAL_NUMBERS]))
def test_a_key_is_taken_out_with_its_line_and_nothing_else(data: st.DataObject, text: str, key: str) -> None:
    path, model, index = data.draw(a_class(text))
    assume(f"{path}.{key}" in read_policy(text).positions)
    assume(load_policy(text).profile_for(model).classes[index].busy_worker_ratio is None)
    removed = set_value(text, f"{path}.{key}", None)
    absent = "fcfs" if key == "queue_policy" else None
    assert load_policy(removed) == changed(text, model, index, **{key: absent})
    assert is_one_span_longer(text, removed)
    assert removed.count(key) < text.count(key)


def is_one_span_longer(long: str, short: str) -> bool:
    """Whether ``long`` is ``short`` with one stretch put in."""
    same = next((i for i, (a, b) in enumerate(zip(long, short, strict=False)) if a != b), len(short))
    rest = len(short) - same
    return long.endswith(short[len(short) - rest :]) if rest else long.startswith(short)


@given(st.data(), laid_out_policies(with_anchors=True), st.integers(1, MAX_UNSIGNED))
def test_a_shared_number_changes_in_one_place_only(data: st.DataObject, text: str, quantum: int) -> None:
    path, model, index = data.draw(a_class(text))
    edited = set_value(text, f"{path}.quantum", quantum)
    assert load_policy(edited) == changed(text, model, index, quantum=quantum)
    assert [line.partition(" #")[2] for line in edited.splitlines()] == [
        line.partition(" #")[2] for line in text.splitlines()
    ]


@given(st.data(), laid_out_policies(with_anchors=True), st.sampled_from(["gold", "no", "1e3", "null", "-", "a.b"]))
def test_a_name_is_replaced_and_read_as_text(data: st.DataObject, text: str, name: str) -> None:
    path, model, index = data.draw(a_class(text))
    taken = {each.name for each in load_policy(text).profile_for(model).classes}
    assume(name not in taken | set(load_policy(text).profile_for(model).families))
    assert load_policy(set_value(text, f"{path}.name", name)) == changed(text, model, index, name=name)


SHARED_PROFILE = """\
models:
  one: &p  # the original
    default_policy_family: f
    uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
    policy_classes:
      - {name: f, policy_family: f, cache_bucket: all, quantum: 512}  # class f
  two: *p
  three: *p  # the same once more
"""


@pytest.mark.parametrize("model", ["one", "two", "three"])
def test_of_a_shared_profile_only_the_occurrence_asked_for_changes(model: str) -> None:
    edited = set_value(SHARED_PROFILE, f"models.{model}.policy_classes[0].quantum", 64)
    quanta = {name: profile.classes[0].quantum for name, profile in load_policy(edited).models.items()}
    assert quanta == {"one": 512, "two": 512, "three": 512, model: 64}
    assert edited.count("#") == SHARED_PROFILE.count("#")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n  quantum:   # none\n", "a:\n  quantum: 7   # none\n"),
        ("a: {quantum: , b: 1}\n", "a: {quantum: 7, b: 1}\n"),
        ("a: {quantum, b: 1}\n", "a: {quantum: 7, b: 1}\n"),
        ("a: {}\n", "a: {quantum: 7}\n"),
        ("a: {b: }\n", "a: {b: , quantum: 7}\n"),
        ("a: {b: 1,}\n", "a: {b: 1, quantum: 7,}\n"),
        ("a:\n  b: !!int 3\n  quantum: !t &x 5", "a:\n  b: !!int 3\n  quantum: &x 7"),
        ("a:\n  b:\n  - 1\n", "a:\n  quantum: 7\n  b:\n  - 1\n"),
        ("a:\n  b: |\n    x\n\n  quantum: |\n    5\n\n# end\n", "a:\n  b: |\n    x\n\n  quantum: 7\n\n# end\n"),
        ('a:\n  "quantum" : "512"', 'a:\n  "quantum" : 7'),
        ("a:\n  b: 'x\n    y'  # c\n...\n", "a:\n  b: 'x\n    y'  # c\n  quantum: 7\n...\n"),
    ],
)
def test_odd_layouts_get_their_value(before: str, after: str) -> None:
    assert set_value(before, "a.quantum", 7) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n- b: 1\n  d: 2\n", "a:\n- d: 2\n"),
        ("a:\n- b: 1 # c\n  d: 2\n", "a:\n-  # c\n  d: 2\n"),
        ("a:\n- b: 1 # c\n  # e\n  d: 2\n", "a:\n-  # c\n  # e\n  d: 2\n"),
        ("a:\n- b: 1\n", "a:\n- {}\n"),
        ("a: [{b: 1}]\n", "a: [{}]\n"),
        ("a: [{b: 1,}]\n", "a: [{}]\n"),
        ("a: [{b: 1, d: 2}]\n", "a: [{d: 2}]\n"),
        ("a: [{d: 2, b: 1}]\n", "a: [{d: 2}]\n"),
        ("a: [{d: 2, # c\n b: 1}]\n", "a: [{d: 2, # c\n }]\n"),
        ("a:\n- d: 2\n  b: |\n    x\n  e: 3\n", "a:\n- d: 2\n  e: 3\n"),
        ("a:\n- b: &x 1\n  d: *x\n", "a:\n- d: &x 1\n"),
    ],
)
def test_a_key_goes_with_its_comma_or_line(before: str, after: str) -> None:
    assert set_value(before, "a[0].b", None).replace("- \n", "-\n") == after


@pytest.mark.parametrize(
    "before",
    [
        "a: 1\n? b\n: 2\n",
        "? b\n: 2\na: 1\n",
        "? b\n: 2\na: 1 # really ?\nc: 3\n",
        "x: really ?\na: 1\n? b\n: 2\n",
        "{a: 1, ? b : 2}",
        "{? b : 2, a: 1}",
        "{x: why ?, a: 1, c: 3}",
        '{"b?" : 2,\n a: 1}',
        "? [b]\n: 2\na : 1\n",
    ],
)
def test_a_key_goes_alone_where_others_stand_behind_question_marks(before: str) -> None:
    left = compose(set_value(before, "a", None))
    wanted = compose(before)
    assert isinstance(left, Mapping)
    assert isinstance(wanted, Mapping)
    assert [shape(pair) for pair in left.pairs] == [shape(p) for p in wanted.pairs if shape(p[0]) != "a"]


def shape(node: Any) -> Any:
    """What a node or a pair of them means, without places."""
    if isinstance(node, tuple):
        return [shape(each) for each in node]
    return [shape(item) for item in node.items] if isinstance(node, Sequence) else node.text


def test_a_whole_profile_is_scaled_with_its_ratio() -> None:
    doubled = scale_quanta(SEED, 2)
    assert doubled == SEED.replace("quantum: 512", "quantum: 1024").replace("quantum: 128", "quantum: 256")
    third = scale_quanta(SEED, {"premium": Fraction(1, 3)})
    assert third == SEED.replace("quantum: 512", "quantum: 171")
    assert scale_quanta(SEED, 1e-9) == SEED.replace("quantum: 512", "quantum: 1").replace("quantum: 128", "quantum: 1")
    assert [each.quantum for each in load_policy(scale_quanta(SEED, 1e30)).profile_for().classes] == [MAX_UNSIGNED] * 2


def test_the_quanta_of_one_model_are_scaled_alone() -> None:
    text = sample("five_classes_models").text()
    scaled = scale_quanta(text, 0.5, profile="models.example/large-model")
    assert scaled == text.replace("quantum: 4096", "quantum: 2048")


@pytest.mark.parametrize(
    ("text", "path", "value", "complaint"),
    [
        (SEED, "policy_classes[7].quantum", 1, "nothing at `policy_classes[7]`"),
        (SEED, "policy_classes", 1, "a list or a mapping"),
        (SEED, "policy_classes[0].quantum", float("nan"), "no number"),
        (SEED, "policy_classes[0].quantum", True, "no number"),
        (SEED, "policy_classes[0]", None, "only the key of a mapping"),
        (SEED, "policy_classes.quantum", 3, "to a mapping only"),
        ("a: [", "a", 1, "as long as it is no YAML: line 2"),
        ("", "a", 1, "empty"),
        ("? quantum\n", "quantum", 1, "without a colon"),
        ("a: 1\n? b\n: 2\n", "b", None, "behind `\\?`: write it as `key: value` first"),
        ("? b\n: 2\na: 1\n", "b", None, "behind `\\?`"),
        ("? b\n: 2\n", "b", None, "behind `\\?`"),
        ("?\n  b\n# why\n: 2\na: 1\n", "b", None, "behind `\\?`"),
        ("? 'b'\na: 1\n", "b", None, "behind `\\?`"),
        ("x:\n- ? b\n  : 2\n  a: 1\n", "x[0].b", None, "behind `\\?`"),
        ("x:\n- a: 1\n  ? b\n  : 2\n", "x[0].b", None, "behind `\\?`"),
        ("{a: 1, ? b : 2}", "b", None, "behind `\\?`"),
        ("{?  b : 2, a: 1}", "b", None, "behind `\\?`"),
        ("? b\n: 2\n", "c", 5, "behind `\\?`"),
    ],
)
def test_what_cannot_be_done_is_said(text: str, path: str, value: Any, complaint: str) -> None:
    with pytest.raises(PolicyError, match=complaint.replace("[", r"\[")):
        set_value(text, path, value)
