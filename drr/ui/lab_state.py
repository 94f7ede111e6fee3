"""What the Lab holds for a session, and the experiment it makes of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import streamlit as st

from drr.errors import DrrError, WorkloadError
from drr.policy import Diagnostic, PolicyReading, read_policy
from drr.policy.samples import SAMPLES
from drr.simulation.engine_options import EngineOptions
from drr.ui import held
from drr.ui.editor import put_text
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload, TypedWorkload, Workload
from drr.workload.mapping import ClassMapping
from drr.workload.scenarios import SCENARIOS, scenario
from drr.workload.spec_reading import read_spec
from drr.workload.typed import read_typed

_FIRST = scenario("premium_burst").experiment
_LECTURE = scenario("lecture").experiment.workload
assert isinstance(_FIRST.workload, SpecWorkload)
assert isinstance(_LECTURE, TypedWorkload)

DEFAULTS: dict[str, object] = {
    "lab:sample": "premium_4_to_1",
    "lab:model": None,
    "lab:workload_kind": "Generated",
    "lab:spec": _FIRST.workload.text,
    "lab:spec_view": "Form",
    "lab:typed": _LECTURE.text,
    "lab:capacity": "open",
    "lab:typed_alone": True,
    "lab:trace": None,
    "lab:trace_spec": None,
    "lab:trace_lenient": True,
    "lab:first_rows": None,
    "lab:trace_window": None,
    "lab:trace_spread": False,
    "lab:class_mapping": ClassMapping("first_block"),
    "lab:workers": 1,
    "lab:dp_size": 1,
    "lab:taints": (),
    "lab:changes": (),
    "lab:max_num_seqs": _FIRST.engine.max_num_seqs,
    "lab:max_num_batched_tokens": _FIRST.engine.max_num_batched_tokens,
    "lab:block_size": _FIRST.engine.block_size,
    "lab:num_gpu_blocks": _FIRST.engine.num_gpu_blocks,
    "lab:prefix_caching": _FIRST.engine.enable_prefix_caching,
    "lab:chunked_prefill": _FIRST.engine.enable_chunked_prefill,
    "lab:timing_model": _FIRST.engine.timing_model,
    "lab:timing_kind": None,
    "lab:timing_points": "",
    "lab:timing_curve": "quadratic",
    "lab:engine_rest": {},
    "lab:speedup": 1.0,
    "lab:cursor_rule": "documented",
    "lab:arbiter": "drr",
    "lab:arrival_mode": "bypass",
    "lab:seed": 0,
    "lab:scenario": "premium_burst",
    "lab:revision": 0,
}

KINDS = ("Generated", "Typed queues", "Trace")

LARGEST_NUMBER = 2**53 - 1
"""The largest whole number a number field of a browser can hold."""

_PAGE = "Lab"
_ARRIVAL = "lab:arrival"
STAGE = "lab:stage"
"""Key of the player that shows the Lab's run."""
TABS = ("Policy", "Workload", "Workers")
TAB = "lab:tab"
"""Key of the tabs on the left."""
POLICY_EDITOR = "lab:policy_editor"
"""Key of the editor that holds the policy text."""

_CLUSTER_WIDGETS = {
    "model": "lab:model",
    "workers": "lab:workers",
    "dp_size": "lab:dp_size",
    "taints": "lab:taints",
    "changes": "lab:changes",
    "cursor_rule": "lab:cursor_rule",
    "arbiter": "lab:arbiter",
    "arrivals": "lab:arrival_mode",
    "arrival_speedup_ratio": "lab:speedup",
    "seed": "lab:seed",
}
"""What of an experiment stands in the Lab as it is."""

_ENGINE_WIDGETS = {
    "max_num_seqs": "lab:max_num_seqs",
    "max_num_batched_tokens": "lab:max_num_batched_tokens",
    "block_size": "lab:block_size",
    "num_gpu_blocks": "lab:num_gpu_blocks",
    "enable_prefix_caching": "lab:prefix_caching",
    "enable_chunked_prefill": "lab:chunked_prefill",
    "timing_model": "lab:timing_model",
}
"""Engine options with a widget; what else an experiment sets is kept in ``lab:engine_rest``."""


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A trace file of this session; ``path`` is None where it is known by name only (a shared experiment)."""

    name: str
    sha256: str
    path: Path | None


def prepare() -> None:
    """Give every value of the Lab its default, and hold on to values of widgets that are not on the page now."""
    held.hold(_PAGE, DEFAULTS)
    st.session_state.setdefault("lab:policy", _FIRST.policy_text)


def stand_at(step: int | None) -> None:
    """Where the playhead is to stand once the run of what was just loaded is there; None for a step in its middle."""
    st.session_state[_ARRIVAL] = (step,)


def take_arrival() -> tuple[int | None] | None:
    """What :func:`stand_at` was told, once; None where nothing was."""
    arrival: tuple[int | None] | None = st.session_state.pop(_ARRIVAL, None)
    return arrival


def load(experiment: Experiment) -> None:
    """Put an experiment into the Lab: :func:`inputs` gives it back.

    To be called in a callback, or before anything of the Lab is drawn.
    """
    state = st.session_state
    if not held.is_open(_PAGE):
        prepare()
    _load_workload(experiment.workload)
    if experiment.policy_text.strip() or not isinstance(experiment.workload, TypedWorkload):
        _put_policy(experiment.policy_text)
    state["lab:typed_alone"] = not experiment.policy_text.strip()
    for name, key in _CLUSTER_WIDGETS.items():
        state[key] = getattr(experiment, name)
    engine = {each.name: getattr(experiment.engine, each.name) for each in fields(experiment.engine)}
    for option, key in _ENGINE_WIDGETS.items():
        state[key] = engine.pop(option)
    state["lab:engine_rest"] = engine
    state["lab:scenario"] = next((each.name for each in SCENARIOS if each.experiment == experiment), None)
    state["lab:revision"] = state.get("lab:revision", 0) + 1
    held.keep(_PAGE, DEFAULTS)


def load_policy_text(text: str) -> None:
    """Put another policy text into the editor (one undo step there)."""
    if not held.is_open(_PAGE):
        prepare()
    _put_policy(text)
    held.keep(_PAGE, DEFAULTS)


def _put_policy(text: str) -> None:
    st.session_state["lab:policy"] = text
    same = next((each.name for each in SAMPLES if each.text() == text), None)
    if same is not None:
        st.session_state["lab:sample"] = same
    put_text(POLICY_EDITOR, text)


def _load_workload(workload: Workload) -> None:
    state = st.session_state
    if isinstance(workload, SpecWorkload):
        state["lab:workload_kind"] = "Generated"
        state["lab:spec"] = workload.text
    elif isinstance(workload, TypedWorkload):
        state["lab:workload_kind"] = "Typed queues"
        state["lab:typed"] = workload.text
        state["lab:capacity"] = workload.capacity
    else:
        before: StoredTrace | None = state.get("lab:trace")
        if before is None or before.path is None or before.sha256 != workload.sha256:
            path = Path(workload.path) if workload.path else None
            state["lab:trace"] = StoredTrace(workload.name, workload.sha256, path)
        state["lab:workload_kind"] = "Trace"
        state["lab:trace_spec"] = workload.spec
        state["lab:trace_lenient"] = workload.lenient
        state["lab:first_rows"] = workload.first_rows
        state["lab:trace_window"] = workload.window_ms
        state["lab:trace_spread"] = workload.spread
        state["lab:class_mapping"] = workload.mapping


@dataclass(frozen=True, slots=True)
class LabInputs:
    """What is on the page: the policy as read, the experiment where nothing is wrong.

    ``diagnostics`` are about the text of the workload, ``problems`` about everything else.
    """

    reading: PolicyReading
    problems: tuple[str, ...]
    experiment: Experiment | None
    diagnostics: tuple[Diagnostic, ...] = ()


def inputs() -> LabInputs:
    """Read everything there is on the page."""
    text: str = st.session_state["lab:policy"]
    reading = read_policy(text)
    typed_alone = st.session_state["lab:workload_kind"] == "Typed queues" and st.session_state["lab:typed_alone"]
    if not reading.ok and not typed_alone:
        return LabInputs(reading, (), None)
    try:
        workload, diagnostics = _workload(reading, typed_alone)
        if any(each.severity == "error" for each in diagnostics):
            return LabInputs(reading, (), None, diagnostics)
        experiment = around(workload, "" if typed_alone else text)
    except DrrError as error:
        return LabInputs(reading, (str(error),), None)
    return LabInputs(reading, (), experiment, diagnostics)


def around(workload: Workload, policy_text: str) -> Experiment:
    """A workload under a policy on the workers the Lab has; raises :class:`DrrError` where they cannot be."""
    cluster = {name: st.session_state[key] for name, key in _CLUSTER_WIDGETS.items()}
    return Experiment(policy_text=policy_text, workload=workload, engine=_engine(), **cluster)


def _engine() -> EngineOptions:
    state = st.session_state
    values = {option: state[key] for option, key in _ENGINE_WIDGETS.items()}
    return EngineOptions(**{**values, **state["lab:engine_rest"]})


def _workload(reading: PolicyReading, typed_alone: bool) -> tuple[Workload, tuple[Diagnostic, ...]]:
    """The workload and what is to say about its text; raises :class:`WorkloadError` where there is none."""
    state = st.session_state
    kind = state["lab:workload_kind"]
    if kind == "Generated":
        return SpecWorkload(state["lab:spec"]), read_spec(state["lab:spec"]).diagnostics
    if kind == "Typed queues":
        profile = None
        if not typed_alone and reading.document is not None:
            profile = reading.document.profile_for(state["lab:model"])
        typed = read_typed(state["lab:typed"], profile)
        return TypedWorkload(state["lab:typed"], state["lab:capacity"]), typed.diagnostics
    trace: StoredTrace | None = state["lab:trace"]
    if trace is None:
        raise WorkloadError("choose a trace file first")
    if trace.path is None:
        raise WorkloadError(f"upload the trace {trace.name}: a shared experiment names its trace, it does not hold it")
    workload = TraceWorkload(
        trace.name,
        trace.sha256,
        state["lab:class_mapping"],
        spec=state["lab:trace_spec"],
        lenient=state["lab:trace_lenient"],
        first_rows=state["lab:first_rows"],
        window_ms=state["lab:trace_window"],
        spread=state["lab:trace_spread"],
        path=str(trace.path),
    )
    return workload, ()
