"""Files of a run: a picture, an animation, a hand-out, an offline replay, made in a worker process."""

from __future__ import annotations

from typing import cast

import streamlit as st

from drr.charts.export import MOST_GIF_FRAMES, steps_from
from drr.charts.handout import MOST_STEPS
from drr.charts.replay_html import MOST_FRAMES
from drr.simulation.recording import Run
from drr.ui.catch_up import catch_up, note_due
from drr.ui.export_task import ExportTask, FileKind, MadeFile
from drr.ui.job_bar import show_bar
from drr.ui.jobs import Job, RunPool
from drr.ui.look import plain, theme
from drr.ui.player.component import current_view
from drr.ui.player.messages import middle_decision
from drr.ui.player.pack import pack_id
from drr.ui.runs import owner_of

KINDS: dict[str, FileKind] = {
    "Picture, PNG": "png",
    "Picture, SVG": "svg",
    "Animation, GIF": "gif",
    "Hand-out to print": "handout",
    "Offline replay": "replay",
}
_MOST: dict[FileKind, int] = {"png": 1, "svg": 1, "gif": MOST_GIF_FRAMES, "handout": MOST_STEPS, "replay": MOST_FRAMES}
_USUAL: dict[FileKind, int] = {"png": 1, "svg": 1, "gif": 30, "handout": 6, "replay": MOST_FRAMES}
_ABOUT: dict[FileKind, str] = {
    "png": "The stage at the step shown now, at twice its size.",
    "svg": "The stage at the step shown now, to enlarge at will.",
    "gif": "The stage step by step, for slides and chats. Every step takes about half a second to draw.",
    "handout": "A page to print: every step as a picture with the sentences that explain it.",
    "replay": "One HTML file that opens from disk, without Ringside and without a network: play, step and scrub.",
}
DECISIONS, EVERY = "decisions", "every step"
HERE, START = "the step shown now", "the start"


@st.cache_resource(show_spinner=False)
def _pool() -> RunPool:
    """A process of its own, so that a file on its way never holds up a run."""
    return RunPool(1)


def show(run: Run, *, slot: str, title: str) -> None:
    """Draw the panel for the run that the player of ``slot`` shows; ``title`` is a hand-out's and a replay's."""
    if run.n_steps == 0:
        return
    panel = st.expander("Export: picture, animation, hand-out, offline replay", on_change=note_due)
    if panel.open:
        with panel:
            _panel(run, slot, title)


@st.fragment
def _panel(run: Run, slot: str, title: str) -> None:
    catch_up()
    key = f"{slot}:export"
    label = st.segmented_control("File", list(KINDS), key=f"{key}:kind", default="Picture, PNG", required=True)
    kind = KINDS[label]
    st.caption(_ABOUT[kind])
    what, start, count, pace = DECISIONS, HERE, 1, 400
    if _MOST[kind] > 1:
        first, second, third, fourth = st.columns(4)
        what = first.radio("Show", (DECISIONS, EVERY), key=f"{key}:what", horizontal=True)
        start = second.radio("From", (START, HERE), key=f"{key}:from", horizontal=True)
        count = third.number_input(
            "At most so many", 1, _MOST[kind], min(_USUAL[kind], _MOST[kind]), key=f"{key}:count:{kind}"
        )
        if kind == "gif":
            pace = fourth.number_input("Milliseconds each", 50, 5_000, 400, step=50, key=f"{key}:pace")
    if st.button("Make the file", key=f"{key}:make"):
        shown = current_view(run, f"{slot}:stage", middle_decision(run)).step
        steps = steps_from(run, -1 if start == START else shown, count, decisions_only=what == DECISIONS)
        task = ExportTask(run, kind, steps if _MOST[kind] > 1 else (shown,), title, theme().name, pace)
        st.session_state[f"{key}:job"] = (pack_id(run), _pool().submit(_owner(slot), task))
    run_id, job = _asked(key)
    if job is None or run_id != pack_id(run):
        return
    if not job.is_over:
        _progress(key, slot)
    elif job.state == "done":
        _offer(cast(MadeFile, job.result), key)
    elif job.state == "failed":
        st.error(f"No file: {plain(job.error)}.")


def _asked(key: str) -> tuple[str, Job | None]:
    """The run that a file was asked for last, and the job that makes it."""
    asked: tuple[str, Job | None] = st.session_state.get(f"{key}:job", ("", None))
    return asked


@st.fragment(run_every=0.4)
def _progress(key: str, slot: str) -> None:
    catch_up()
    _, job = _asked(key)
    if job is None or job.is_over:
        st.rerun()
    text = f"step {job.over:,} of {job.total:,}" if job.total else "drawing …"
    show_bar(job.over, job.total, text, key=f"{key}:cancel", cancel=_pool().cancel, args=(_owner(slot),))


def _offer(made: MadeFile, key: str) -> None:
    st.download_button(
        f"Download {made.name}, {size_text(len(made.content))}",
        lambda: made.content,
        made.name,
        made.mime,
        key=f"{key}:download",
        on_click="ignore",
        type="primary",
    )


def size_text(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3)):,} KB"


def _owner(slot: str) -> str:
    return owner_of(f"{slot}:export")
