"""A taste of every fuzz target, and everything that was trouble once. `make fuzz` has more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from tests.fuzz import __main__ as runner
from tests.fuzz.target import CORPUS, Target, packed, texts, unpacked

TARGETS = {each.name: each for each in runner.TARGETS}
KEPT = [(target, why, value) for target in runner.TARGETS for why, value in target.corpus()]


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_gets_a_clear_answer(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(target.inputs)
    def taste(value: Any) -> None:
        target.check(value)

    taste()


@pytest.mark.parametrize(("target", "value"), [(t, v) for t, _, v in KEPT], ids=[f"{t.name}: {w}" for t, w, _ in KEPT])
def test_what_was_trouble_once_gets_a_clear_answer(target: Target, value: Any) -> None:
    target.check(value)


def test_every_file_of_the_corpus_belongs_to_a_target() -> None:
    assert {path.stem for path in CORPUS.glob("*.json")} <= set(TARGETS)
    assert KEPT


def test_a_finding_is_kept_as_small_as_it_could_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def check(data: bytes) -> None:
        assert b"[" not in data

    target = Target("made_up", texts(("abc",)), check)
    tried: Any = runner.Counter()
    said = ""
    for turn in range(5):
        said = said or runner.one_turn(target, turn, tried, tmp_path)
    assert said.startswith("AssertionError")
    (kept,) = json.loads((tmp_path / "made_up.json").read_text())
    assert b"[" in unpacked(kept["input"])
    assert len(unpacked(kept["input"])) <= 60
    assert tried["made_up"] > 1
    runner.report([target], tried, {"made_up": said})
    assert "1 findings" in capsys.readouterr().out


@pytest.mark.parametrize("value", [b"text", b"\xff\x00", {"a": [1, None]}])
def test_an_input_survives_being_kept(value: Any) -> None:
    assert unpacked(json.loads(json.dumps(packed(value)))) == value


def test_texts_are_damaged_and_sometimes_whole() -> None:
    made = texts(("good: 1\n",))
    assert find(made, lambda data: data == b"good: 1\n") == b"good: 1\n"
    assert find(made, lambda data: b"good" in data and len(data) > 30)
    assert find(made | st.nothing(), lambda data: b"\xff" in data, settings=settings(max_examples=50_000))
