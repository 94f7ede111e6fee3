"""Sharing what is in the Lab: as a link, or as a file where it is too large for one; and opening both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from drr.errors import DrrError, WorkloadError
from drr.policy.source_text import readable_text
from drr.ui import lab_state
from drr.ui.catch_up import catch_up, note_due
from drr.ui.limits import LINK_CHARACTERS, SHARED_TRACE_BYTES
from drr.ui.look import plain
from drr.ui.workload_trace import session_folder
from drr.workload.experiment import Experiment, TraceWorkload
from drr.workload.link import FILE_SUFFIX, MAX_FILE_BYTES, Shared, decode, encode, from_file, to_file

PARAMETER = "x"
"""Query parameter of a link."""
UPLOAD = "lab:open"
_LINK, _MADE, _PROBLEM, _NOTE = "share:link", "share:made", "share:problem", "share:note"


def open_link(go_to: Callable[[int], None]) -> None:
    """Put the experiment of the page's address into the Lab, once. To be called before anything of it is drawn."""
    code = st.query_params.get(PARAMETER)
    if code is None or st.session_state.get(_LINK) == code:
        return
    st.session_state[_LINK] = code
    try:
        _open(decode(code, max_characters=LINK_CHARACTERS.value), go_to)
    except DrrError as error:
        _say(problem=f"Nothing was opened: {error}.")


def _open(shared: Shared, go_to: Callable[[int], None]) -> None:
    experiment = shared.experiment
    if isinstance(experiment.workload, TraceWorkload) and shared.trace_text is not None:
        _keep_trace(experiment.workload, shared.trace_text)
    lab_state.load(experiment)
    if shared.step is not None:
        go_to(shared.step)
    _say()


def _keep_trace(workload: TraceWorkload, text: str) -> None:
    data = text.encode()
    if hashlib.sha256(data).hexdigest() != workload.sha256:
        raise WorkloadError("the trace in the file is not the one that its experiment names")
    path = session_folder() / workload.sha256
    path.write_bytes(data)
    st.session_state["lab:trace"] = lab_state.StoredTrace(workload.name, workload.sha256, path)


def _say(*, problem: str = "", note: str = "") -> None:
    st.session_state[_PROBLEM], st.session_state[_NOTE] = problem, note


def show_messages() -> None:
    """What opening a link or a file has led to."""
    with st.container():
        if problem := st.session_state.get(_PROBLEM):
            st.error(plain(problem))
        if note := st.session_state.get(_NOTE):
            st.info(plain(note))


def show_open(go_to: Callable[[int], None]) -> None:
    """A place to drop a policy file or a shared experiment."""
    st.file_uploader(
        f"A policy (.yaml) or a shared {FILE_SUFFIX} file",
        key=UPLOAD,
        on_change=take_upload,
        args=(go_to,),
        max_upload_size=MAX_FILE_BYTES // 2**20,
        help="It is read into this page; nothing is kept on the server.",
    )


def take_upload(go_to: Callable[[int], None]) -> None:
    """Open what was dropped; what cannot be read leaves everything as it is and says why."""
    uploaded = st.session_state[UPLOAD]
    if uploaded is None:
        _say()
        return
    note_due()
    name, content = uploaded.name, uploaded.getvalue()
    if name.lower().endswith(".json"):
        try:
            _open(from_file(content), go_to)
        except DrrError as error:
            _say(problem=f"{name} was not opened: {error}.")
        return
    text, notes = readable_text(content)
    if text is None:
        _say(problem=f"{name} was not opened: {notes[-1].text()}.")
        return
    lab_state.load_policy_text(text)
    _say(note=f"{name}: {notes[0].message}; it was left out." if notes else "")


def show_share(experiment: Experiment | None, step: Callable[[], int | None]) -> None:
    """A link to what is on the page, made when asked for (the playhead moves without a rerun of the page)."""
    if experiment is None:
        st.caption("What is on the page can be shared as soon as it is valid.")
        return
    _share(experiment, step)


@st.fragment
def _share(experiment: Experiment, step: Callable[[], int | None]) -> None:
    catch_up()
    if st.button("Make a link to this step", key="share:make"):
        st.session_state[_MADE] = (experiment.key, step())
    made: tuple[str, int | None] | None = st.session_state.get(_MADE)
    if made is not None and made[0] == experiment.key:
        link = link_to(experiment, made[1], st.context.url or "")
        if len(link) <= LINK_CHARACTERS.value:
            st.code(link, language=None)
            at = "" if made[1] is None else " and the start" if made[1] < 0 else f" and step {made[1] + 1:,}"
            st.caption(f"{len(link):,} characters: policy, workload, workers, cursor rule{at}. It names no file.")
        else:
            st.caption(
                f"The link would have {len(link):,} characters, and more than {LINK_CHARACTERS.value:,} do not pass "
                f"everywhere ({LINK_CHARACTERS.variable} sets it). Take the file instead."
            )
    st.download_button(
        f"Download as {FILE_SUFFIX}",
        lambda: to_file(experiment, step(), trace_text=trace_text(experiment)),
        f"experiment{FILE_SUFFIX}",
        "application/json",
        on_click="ignore",
    )
    if said := trace_note(experiment):
        st.caption(said)


def link_to(experiment: Experiment, step: int | None, address: str) -> str:
    """The address of the page with the experiment in it."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", f"{PARAMETER}={encode(experiment, step)}", ""))


def _trace(experiment: Experiment) -> Path | None:
    """The trace file of an experiment on this machine."""
    workload = experiment.workload
    return Path(workload.path) if isinstance(workload, TraceWorkload) and workload.path else None


def trace_note(experiment: Experiment) -> str:
    """What to say about the trace of an experiment that is shared; "" where there is none."""
    path = _trace(experiment)
    if path is None:
        return ""
    try:
        said = SHARED_TRACE_BYTES.exceeded(path.stat().st_size)
    except OSError:
        said = "it is gone"
    if said:
        return f"The trace is not in the file, which only names it: {said}."
    return "The file holds the trace too where it is plain text; a link only names it."


def trace_text(experiment: Experiment) -> str | None:
    """The trace as text where it is one and may go along."""
    path = _trace(experiment)
    try:
        if path is None or SHARED_TRACE_BYTES.exceeded(path.stat().st_size):
            return None
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
