"""The lessons: each answer comes from the engine and is the one worked out by hand here."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from drr.analysis.answers import NOBODY, Answer, answer_of
from drr.analysis.explain import explain
from drr.errors import WorkloadError
from drr.simulation.state import StepKind
from drr.ui.learn import lesson_run
from drr.workload.lessons import LESSONS, MOST_WORDS, Question, lesson
from tests.support import ROOT

BY_HAND = {
    "tokens": "chat",  # 75 left of 100, the next head costs 25
    "one-grant": "1",  # 10 - 3 - 3 - 3
    "leftover": "50",  # 35 + 60 - 45
    "oversized": "latency",  # ceil(7,000 / 2,000) = 4 rounds against 6
    "empty-blocked": "40",  # 100 - 60, kept while blocked
    "lanes": "A4",  # the head of the shared lane; A2 and A3 stand in the lane of the busy worker 0
    "order": "mail2",  # the cheapest of mail
    "priority": "A4",  # a jump of 3 s before those without
    "thresholds": "premium",  # 1,536 is not above 1,536
    "rules": "B",  # the carry of A was lost in the empty call
}


def test_there_are_ten_lessons_with_links_of_their_own() -> None:
    assert len(LESSONS) == 10
    assert [each.link for each in LESSONS] == list(BY_HAND)
    for number, each in enumerate(LESSONS, start=1):
        assert lesson(str(number)) is lesson(each.link) is each
    for bad in ("0", "11", "", "nothing"):
        with pytest.raises(WorkloadError):
            lesson(bad)


@pytest.mark.parametrize("each", LESSONS, ids=[each.link for each in LESSONS])
def test_the_engine_gives_the_answer_that_was_worked_out_by_hand(each: object) -> None:
    number = LESSONS.index(each) + 1  # type: ignore[arg-type]
    found = answer_of(lesson_run(number), LESSONS[number - 1].question)
    right = BY_HAND[LESSONS[number - 1].link]
    assert found.is_right(right)
    assert not found.is_right("999")
    if found.choices:
        assert found.choices.count(right) == 1
        assert found.choices[-1] == NOBODY
        assert len(found.choices) >= 3


@pytest.mark.parametrize("each", LESSONS, ids=[each.link for each in LESSONS])
def test_a_lesson_is_short_and_its_feedback_explains_the_call(each: object) -> None:
    number = LESSONS.index(each) + 1  # type: ignore[arg-type]
    text, question = LESSONS[number - 1].text, LESSONS[number - 1].question
    assert len(text.split()) <= MOST_WORDS
    assert question.text.endswith("?")
    run = lesson_run(number)
    said = explain(run, answer_of(run, question).step).text
    assert said.endswith(".")
    if question.kind == "deficit":
        kept = re.escape(BY_HAND[LESSONS[number - 1].link])
        assert re.search(rf"{question.policy_class} .*|has {kept} left|keeps its {kept} tokens", said)


def test_the_figures_in_the_texts_are_those_of_the_runs() -> None:
    """What a text says has happened before the call has happened."""

    def before(link: str) -> tuple[int, ...]:
        number = [each.link for each in LESSONS].index(link) + 1
        run = lesson_run(number)
        step = answer_of(run, LESSONS[number - 1].question).step
        return tuple(each.deficit_tokens for each in run.state_at(step - 1).classes)

    assert before("tokens") == (0, 75)
    assert before("one-grant") == (4, 0)
    assert before("leftover") == (35, 10, 0)
    assert before("empty-blocked") == (40, 0, 0)
    assert before("rules") == (950, 0)
    thresholds = lesson_run(9)
    assert [StepKind(kind) for kind in thresholds.kinds[:6]].count(StepKind.BYPASSED) == 4
    step = answer_of(thresholds, LESSONS[8].question).step
    assert thresholds.state_at(step - 1).endpoints[0].active_prefill_tokens == 1_536
    priority = lesson_run(8)
    assert priority.requests.label(priority.step_request[priority.decision_steps[0]]) == "A3"


def test_lesson_ten_has_the_other_answer_under_the_documented_rule() -> None:
    run = replace(LESSONS[9].experiment, cursor_rule="documented").run()
    assert answer_of(run, LESSONS[9].question).right == "A"


def test_an_answer_is_taken_with_separators_and_in_any_case() -> None:
    assert Answer(0, "1,000", ()).is_right("1000")
    assert Answer(0, "A4", ("A4",)).is_right("a4")
    assert not Answer(0, "10", ()).is_right("100")


def test_a_question_about_a_call_that_never_was_is_refused() -> None:
    run = lesson_run(1)
    for call in (0, 1_000):
        with pytest.raises(ValueError, match="call"):
            answer_of(run, Question("class", call, "?"))


def test_a_call_that_lets_nothing_go_serves_nobody() -> None:
    run = lesson_run(10)
    assert answer_of(run, Question("class", 2, "?")).right == NOBODY
    assert answer_of(run, Question("request", 2, "?")).right == NOBODY


def test_the_policy_of_the_lesson_on_thresholds_has_the_threshold_of_its_text() -> None:
    assert LESSONS[8].experiment.profile().classes[0].prefill_busy_threshold == 1_536


# --- the page, without a browser ---


def page(**link: str) -> AppTest:
    test = AppTest.from_file(str(ROOT / "pages/learn.py"), default_timeout=60)
    for name, value in link.items():
        test.query_params[name] = value
    return test.run()


def button(test: AppTest, label: str) -> object:
    return next(each for each in test.button if each.label == label)


def test_a_link_opens_its_lesson_and_a_bad_one_the_first() -> None:
    assert page(lesson="3").subheader[0].value == "3. What is left over stays"
    assert page(lesson="rules").subheader[0].value.startswith("10. Why 1,000 : 100")
    assert page(lesson="99").subheader[0].value.startswith("1. ")


def test_a_right_answer_is_praised_and_counted_and_a_wrong_one_is_put_right() -> None:
    test = page(lesson="1")
    button(test, "chat").click().run()  # type: ignore[attr-defined]
    assert test.success[0].value.startswith("**Right: chat.**")
    assert any("1 of 10 answered, 1 right" in each.value for each in test.caption)
    button(test, "Next lesson").click().run()  # type: ignore[attr-defined]
    assert test.subheader[0].value.startswith("2. ")
    assert test.query_params["lesson"] in ("2", ["2"])
    test.number_input[0].set_value(11).run()
    assert "Not 11, but 1 token." in test.warning[0].value
    assert any("2 of 10 answered, 1 right" in each.value for each in test.caption)
    button(test, "Ask again").click().run()  # type: ignore[attr-defined]
    assert any("1 of 10 answered, 1 right" in each.value for each in test.caption)


def test_teacher_mode_keeps_the_answer_back_until_it_is_asked_for() -> None:
    test = page(lesson="4", teacher="1")
    said = " ".join([*(each.value for each in test.success), *(each.value for each in test.info)])
    assert "latency" not in said
    assert not any("answered" in each.value for each in test.caption)
    button(test, "Show the answer").click().run()  # type: ignore[attr-defined]
    assert test.info[0].value.startswith("**latency.**")


def test_the_hand_out_has_all_lessons_and_the_answers_on_a_sheet_of_their_own() -> None:
    test = page(lesson="all")
    titles = [each.value for each in test.subheader]
    assert titles == [*(f"{n}. {each.title}" for n, each in enumerate(LESSONS, start=1)), "Answers"]
    answers = test.markdown[-1].value
    for right in BY_HAND.values():
        assert f"**{right}" in answers
