"""What the Learn page shows: one lesson with its stage, its question and the answer, or all ten as a hand-out."""

from __future__ import annotations

import html

import pandas as pd
import streamlit as st

from drr.analysis.answers import Answer, answer_of
from drr.analysis.explain import explain
from drr.analysis.log import log_rows
from drr.charts.palette import Theme
from drr.charts.stage import stage_figure
from drr.errors import WorkloadError
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS
from drr.ui import held, lab_state, learn_style, stage_view
from drr.ui.look import plain, theme
from drr.workload.lessons import LESSONS, Lesson, Question, lesson

STAGE_WIDTH = 720
SHOWN_CALLS = 6
ALL = "all"

_LESSON, _ANSWERS, _TEACHER, _OPENED = "learn:lesson", "learn:answers", "learn:teacher", "learn:opened"
SHOWN = "(shown)"
"""Stands for an answer that was not given but asked for."""

_NUMBERS = tuple(range(1, len(LESSONS) + 1))


@st.cache_resource(max_entries=len(LESSONS), show_spinner=False)
def lesson_run(number: int) -> Run:
    """The run of a lesson; tiny, so it is made on the spot."""
    return LESSONS[number - 1].experiment.run()


def prepare() -> None:
    """Give the page's values their defaults; a link that was just opened says which lesson and who looks at it."""
    state, link = st.session_state, st.query_params
    state.setdefault(_ANSWERS, {})
    held.hold("Learn", {_LESSON: 1, _TEACHER: False})
    asked = (link.get("lesson"), link.get("teacher"))
    if any(asked) and state.get(_OPENED) != asked:
        state[_OPENED] = asked
        state[_LESSON] = _asked_number(asked[0])
        state[_TEACHER] = asked[1] == "1"
        held.keep("Learn", (_LESSON, _TEACHER))
    learn_style.apply()


def _asked_number(asked: str | None) -> int:
    try:
        return LESSONS.index(lesson(asked or "1")) + 1
    except WorkloadError:
        return 1


def is_handout() -> bool:
    """Whether all ten lessons are asked for at once."""
    return st.query_params.get("lesson") == ALL


def current_number() -> int:
    """Number of the lesson that is open, from 1."""
    return int(st.session_state[_LESSON] or 1)


def _is_teacher() -> bool:
    return bool(st.session_state[_TEACHER])


def _go(number: int) -> None:
    st.session_state[_LESSON] = number
    _write_link()


def _write_link() -> None:
    """The address names the lesson, so that it can be copied at any time."""
    number = current_number()
    st.session_state[_LESSON] = number
    st.query_params["lesson"] = str(number)
    if _is_teacher():
        st.query_params["teacher"] = "1"
    else:
        st.query_params.pop("teacher", None)
    st.session_state[_OPENED] = (str(number), "1" if _is_teacher() else None)


# --- progress ------------------------------------------------------------------------------------------------


def _answers() -> dict[int, str]:
    answers: dict[int, str] = st.session_state[_ANSWERS]
    return answers


def _mark(number: int) -> str:
    given = _answers().get(number)
    if given is None or _is_teacher():
        return str(number)
    return f"{number} {'✓' if _answer(number).is_right(given) else '·'}"


def _answer(number: int) -> Answer:
    return answer_of(lesson_run(number), LESSONS[number - 1].question)


def show_progress() -> None:
    """The ten lessons, what was answered in this session, and teacher mode."""
    with st.container(key="learn_bar", horizontal=True, vertical_alignment="center", gap="medium"):
        marks = {number: _mark(number) for number in _NUMBERS}
        st.segmented_control(
            "Lesson",
            _NUMBERS,
            key=_LESSON,
            format_func=marks.__getitem__,
            on_change=_write_link,
            label_visibility="collapsed",
        )
        given = _answers()
        right = sum(_answer(number).is_right(text) for number, text in given.items())
        with st.container(width="content"):
            if not _is_teacher():
                st.caption(f"{len(given)} of {len(LESSONS)} answered, {right} right", width="content")
        st.toggle(
            "Teacher mode",
            key=_TEACHER,
            on_change=_write_link,
            help="Keeps answers back until you ask for them. The link keeps the mode: send one, project the other.",
        )


# --- one lesson ----------------------------------------------------------------------------------------------


def show_text(number: int) -> None:
    """Title and text."""
    each = LESSONS[number - 1]
    st.subheader(f"{number}. {each.title}", anchor=False)
    st.markdown(each.text)


def show_question(number: int) -> None:
    """The question with its choices, or what the engine says once it is answered."""
    question, answer = LESSONS[number - 1].question, _answer(number)
    given = _answers().get(number)
    with st.container(key="learn_question", border=True):
        st.markdown(f"**{plain(question.text)}**")
        if given is None:
            _ask(number, answer)
        else:
            _tell(number, answer, given)
    _paper_choices(question, answer)


def _ask(number: int, answer: Answer) -> None:
    if answer.choices:
        with st.container(horizontal=True, gap="small"):
            for choice in answer.choices:
                st.button(plain(choice), key=f"learn:{number}:{choice}", on_click=_give, args=(number, choice))
    else:
        key = f"learn:{number}:tokens"
        st.number_input(
            "Tokens, then Enter",
            min_value=0,
            max_value=10**9,
            value=None,
            step=1,
            key=key,
            on_change=_give_tokens,
            args=(number, key),
            width=220,
        )
    if _is_teacher():
        st.button("Show the answer", key=f"learn:{number}:show", on_click=_give, args=(number, SHOWN), type="tertiary")


def _what(answer: Answer) -> str:
    """The right answer with its unit."""
    if answer.choices:
        return answer.right
    return f"{answer.right} token{'' if answer.right == '1' else 's'}"


def _give(number: int, text: str) -> None:
    _answers()[number] = text


def _give_tokens(number: int, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        _give(number, str(value))


def _again(number: int) -> None:
    _answers().pop(number, None)


def _tell(number: int, answer: Answer, given: str) -> None:
    """Right or not, and why: the engine's own sentences about the call."""
    what = _what(answer)
    said = explain(lesson_run(number), answer.step)
    if given == SHOWN:
        st.info(f"**{plain(what)}.** {plain(said.text)}")
    elif answer.is_right(given):
        st.success(f"**Right: {plain(what)}.** {plain(said.text)}")
    else:
        st.warning(f"**Not {plain(given)}, but {plain(what)}.** {plain(said.text)}")
    with st.container(horizontal=True, gap="small"):
        if number < len(LESSONS):
            st.button("Next lesson", key=f"learn:{number}:next", on_click=_go, args=(number + 1,), type="primary")
        st.button("Ask again", key=f"learn:{number}:again", on_click=_again, args=(number,))


def show_stage(number: int) -> None:
    """The stage: as the call finds it while the question is open, afterwards the whole run to step through."""
    run, answer = lesson_run(number), _answer(number)
    if _answers().get(number) is None:
        _still(run, answer.step, theme(), f"learn:still:{number}")
        _so_far(run, answer.step)
        return
    stage_view.show(run, slot="learn", key=str(number), start=answer.step, parts=())


def _still(run: Run, step: int, look: Theme, key: str) -> None:
    figure = stage_figure(run, step, theme=look, width=STAGE_WIDTH, guess=True)
    st.plotly_chart(figure, key=key, theme=None, width="content", config={"displayModeBar": False, "staticPlot": True})


def _so_far(run: Run, step: int) -> None:
    """The calls before the question, with the deficits they left."""
    rows = log_rows(run, 0, step, kinds=CALL_KINDS)[-SHOWN_CALLS:]
    if not rows:
        st.caption("No call was made yet: every deficit is 0.")
        return
    st.caption("The calls so far, and the deficits after each:")
    frame = pd.DataFrame({"goes": [plain(row.request) if row.request else "–" for row in rows]})
    for index, name in enumerate(run.class_names):
        frame[plain(f"{name} after")] = [run.state_at(row.step).classes[index].deficit_tokens for row in rows]
    frame["why"] = [plain(row.why) for row in rows]
    st.table(frame, border="horizontal", hide_index=True)


def show_footer(number: int) -> bool:
    """Ways on; True when the lesson is to be opened in the Lab, which is loaded already then."""
    with st.container(key="learn_ways", horizontal=True, gap="small"):
        if number > 1:
            st.button("Back", key="learn:back", on_click=_go, args=(number - 1,))
        if number < len(LESSONS) and _answers().get(number) is None:
            st.button("Skip", key="learn:skip", on_click=_go, args=(number + 1,), help="Go on without an answer.")
        opens = st.button("Open in the Lab", key="learn:lab", help="The same run, with everything to change.")
        st.link_button("Hand-out of all ten", f"?lesson={ALL}", help="One page to print: Ctrl+P.")
    if opens:
        lab_state.prepare()
        lab_state.load(LESSONS[number - 1].experiment)
    return opens


# --- hand-outs -----------------------------------------------------------------------------------------------


def _paper_choices(question: Question, answer: Answer) -> None:
    """On paper buttons are no use: boxes to tick, or a line to write on."""
    lines = (
        "".join(f"<span>☐ {html.escape(choice)}</span>" for choice in answer.choices) or "<span>________ tokens</span>"
    )
    st.html(f'<p class="learn-paper"><b>{html.escape(question.text)}</b> {lines}</p>')


def show_handout() -> None:
    """All lessons below each other, without answers, made for paper."""
    st.link_button("Back to the lessons", "?lesson=1")
    st.caption("Print this page (Ctrl+P): one lesson per sheet, and the answers on a last one that you may leave out.")
    for number, each in enumerate(LESSONS, start=1):
        with st.container(key=f"learn_sheet_{number}"):
            show_text(number)
            answer = _answer(number)
            _still(lesson_run(number), answer.step, theme(), f"learn:sheet:{number}")
            _so_far(lesson_run(number), answer.step)
            _paper_choices(each.question, answer)
    with st.container(key="learn_sheet_answers"):
        st.subheader("Answers", anchor=False)
        lines = [_solution(number, each) for number, each in enumerate(LESSONS, start=1)]
        st.markdown("\n".join(lines))


def _solution(number: int, each: Lesson) -> str:
    answer = _answer(number)
    what = _what(answer)
    said = explain(lesson_run(number), answer.step)
    return f"{number}. {plain(each.title)}: **{plain(what)}**. {plain(said.text)}"
