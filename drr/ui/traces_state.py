"""What the Traces page holds for a session: the files, how each is read, what is cut out of them and who gets what."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import streamlit as st

from drr.errors import DrrError
from drr.policy.samples import sample
from drr.simulation.engine_options import EngineOptions
from drr.ui import held, lab_state
from drr.ui.traces_tasks import MergeTask, PolicyChoice
from drr.ui.workload_trace import look_of, session_folder
from drr.workload.experiment import Experiment
from drr.workload.mapping import ClassMapping
from drr.workload.trace_workload import TraceWorkload, Window
from drr.workload.traces_edit import ClockRule
from drr.workload.traces_formats import TraceSpec
from drr.workload.traces_sample import NAME, sample_trace

MOST_FILES = 16
UPLOAD = "traces:upload"
"""Key of the uploader. It stays where it is on the page: one that moves loses what is on its way up."""
AUTOMATIC = "automatic"
"""The clock of several files where nothing is said: by date where all have dates, else as written."""
LAB = "the Lab's"
"""The policy the Lab holds, in the choice of policies."""
CACHE_TOKENS = EngineOptions().num_gpu_blocks * EngineOptions().block_size
"""Tokens that a worker's cache holds at first: as many as the mock engine's."""

DEFAULTS: dict[str, object] = {
    "traces:files": (),
    "traces:errors": (),
    "traces:taken": frozenset(),
    "traces:lenient": False,
    "traces:clock": AUTOMATIC,
    "traces:shared_blocks": False,
    "traces:from_s": 0.0,
    "traces:to_s": None,
    "traces:rate": 1.0,
    "traces:spread": False,
    "traces:class_mapping": ClassMapping(),
    "traces:policy": LAB,
    "traces:workers": 1,
    "traces:block_size": 512,
    "traces:num_gpu_blocks": CACHE_TOKENS // 512,
    "traces:revision": 0,
}


def prepare() -> None:
    """Give every value of the page its default, and hold on to those whose widgets are not on the page now."""
    lab_state.prepare()
    held.hold("Traces", DEFAULTS)


def files() -> tuple[TraceWorkload, ...]:
    """The files there are, in the order in which they came."""
    found: tuple[TraceWorkload, ...] = st.session_state["traces:files"]
    return found


def take_drop() -> None:
    """Take what was dropped since the last time; what is no trace is named, and everything else stays.

    The browser sends the files of one drop when it has them, perhaps not all at once.
    """
    state = st.session_state
    for each in state[UPLOAD]:
        if each.file_id in state["traces:taken"]:
            continue
        state["traces:taken"] |= {each.file_id}
        try:
            _add(each.name, each.getvalue())
        except DrrError as error:
            state["traces:errors"] += ((each.file_id, f"{each.name}: {error}"),)


def dismiss(file_id: str) -> None:
    """Forget what was said about a refused file."""
    state = st.session_state
    state["traces:errors"] = tuple(each for each in state["traces:errors"] if each[0] != file_id)


def take_sample() -> None:
    """Take the made-up trace."""
    _add(NAME, sample_trace())


def _add(name: str, data: bytes) -> None:
    digest = hashlib.sha256(data).hexdigest()
    held = files()
    if any(each.sha256 == digest for each in held):
        return
    if len(held) >= MOST_FILES:
        raise DrrError(f"at most {MOST_FILES} files are merged here; take one away first")
    path = session_folder() / digest
    path.write_bytes(data)
    look = look_of(str(path), digest)
    _put((*held, TraceWorkload(name, digest, spec=look.spec, lenient=True, path=str(path))))
    if not held:
        _fit_to(look.spec, look.column_names)


def _fit_to(spec: TraceSpec, columns: tuple[str, ...]) -> None:
    """Settings for a first file: caches with its block size, a rule it can be mapped by."""
    state = st.session_state
    size = spec.block_size_tokens
    state["traces:block_size"], state["traces:num_gpu_blocks"] = size, max(1, CACHE_TOKENS // size)
    if "policy_class" in columns or "policy_class" in dict(spec.columns):
        kind = ClassMapping()
    else:
        kind = ClassMapping("first_block" if "hash_ids" in columns else "as_written")
    state["traces:class_mapping"] = kind


def remove(sha256: str) -> None:
    """Take a file away."""
    _put(tuple(each for each in files() if each.sha256 != sha256))


def clear() -> None:
    """Take all files away."""
    _put(())


def _put(held: tuple[TraceWorkload, ...]) -> None:
    """Other files: a window of the old ones says nothing about them."""
    state = st.session_state
    before = len(files())
    state["traces:files"] = held
    state["traces:revision"] += 1
    state["traces:lenient"] = False
    whole()
    mapping: ClassMapping = state["traces:class_mapping"]
    if len(held) > 1 >= before:
        state["traces:class_mapping"] = ClassMapping("column", column="file")
    elif len(held) == 1 and mapping.column == "file":
        state["traces:class_mapping"] = ClassMapping()


def set_spec(sha256: str, spec: TraceSpec) -> None:
    """Read a file differently."""
    st.session_state["traces:files"] = tuple(
        replace(each, spec=spec) if each.sha256 == sha256 else each for each in files()
    )
    st.session_state["traces:lenient"] = False
    whole()


def whole() -> None:
    """Cut nothing."""
    st.session_state["traces:from_s"], st.session_state["traces:to_s"] = 0.0, None


def leave_out() -> None:
    """Go on without the bad rows."""
    st.session_state["traces:lenient"] = True


def merge_task() -> MergeTask:
    """The merging of the files."""
    state = st.session_state
    clock: ClockRule | None = None if state["traces:clock"] == AUTOMATIC else state["traces:clock"]
    return MergeTask(files(), clock, state["traces:shared_blocks"], str(Path(session_folder())))


def _window_ms() -> Window | None:
    """The window after the first arrival, None for the whole trace."""
    first: float = (st.session_state["traces:from_s"] or 0.0) * 1e3
    last: float | None = st.session_state["traces:to_s"]
    return None if first == 0.0 and last is None else (first, None if last is None else last * 1e3)


def cut(source: TraceWorkload) -> TraceWorkload:
    """The workload the page makes of one file: window, spreading, mapping."""
    state = st.session_state
    return replace(
        source,
        lenient=True,
        mapping=state["traces:class_mapping"],
        window_ms=_window_ms(),
        spread=state["traces:spread"],
    )


def policy() -> PolicyChoice:
    """The policy whose classes count."""
    state = st.session_state
    chosen: str = state["traces:policy"]
    return (
        PolicyChoice(state["lab:policy"], state["lab:model"]) if chosen == LAB else PolicyChoice(sample(chosen).text())
    )


def experiment_for(trace: TraceWorkload, *, has_blocks: bool) -> Experiment:
    """The trace on the Lab's workers, their number and caches as on this page; what the Lab changes on the way, not."""
    state = st.session_state
    made = lab_state.around(trace, policy().text)
    engine = made.engine
    if has_blocks:
        engine = replace(
            engine,
            block_size=state["traces:block_size"],
            num_gpu_blocks=state["traces:num_gpu_blocks"],
            enable_prefix_caching=True,
        )
    return replace(
        made,
        model=policy().model,
        workers=state["traces:workers"],
        engine=engine,
        arrival_speedup_ratio=state["traces:rate"],
        changes=(),
        taints=(),
    )
