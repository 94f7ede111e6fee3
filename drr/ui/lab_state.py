"""What the Lab holds for a session, and the experiment it makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from drr.errors import DrrError
from drr.policy import PolicyReading, read_policy
from drr.policy.samples import sample
from drr.simulation.engine_options import EngineOptions
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload, TypedWorkload, Workload
from drr.workload.mapping import ClassMapping
from drr.workload.spec_reading import read_spec
from drr.workload.typed import read_typed

PREMIUM_BURST = """\
# 320 + 320 different requests of 512 tokens, one output token each, all at once.
streams:
  - header: premium
    requests: 320
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
  - header: regular
    requests: 320
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
"""

TYPED_QUEUES = """\
# tokens of each request, first come first; (60) is the class's quantum
A (60): 25 45 10
B (60): 50 30
C (60): 20 20 20 20
"""

SEED_ENGINE = EngineOptions(max_num_seqs=4, enable_prefix_caching=False, block_size=512, num_gpu_blocks=100_000)

DEFAULTS: dict[str, object] = {
    "lab:sample": "premium_4_to_1",
    "lab:model": None,
    "lab:workload_kind": "Generated",
    "lab:spec": PREMIUM_BURST,
    "lab:typed": TYPED_QUEUES,
    "lab:capacity": "open",
    "lab:typed_alone": True,
    "lab:mapping": "first block id",
    "lab:workers": 1,
    "lab:max_num_seqs": SEED_ENGINE.max_num_seqs,
    "lab:max_num_batched_tokens": SEED_ENGINE.max_num_batched_tokens,
    "lab:block_size": SEED_ENGINE.block_size,
    "lab:num_gpu_blocks": SEED_ENGINE.num_gpu_blocks,
    "lab:prefix_caching": SEED_ENGINE.enable_prefix_caching,
    "lab:chunked_prefill": SEED_ENGINE.enable_chunked_prefill,
    "lab:speedup": 1.0,
    "lab:cursor_rule": "documented",
    "lab:seed": 0,
}

KINDS = ("Generated", "Typed queues", "Trace")
MAPPINGS = {
    "first block id": ClassMapping("first_block"),
    "as the trace says": ClassMapping(),
    "in turn": ClassMapping("round_robin"),
}


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A trace file of this session."""

    name: str
    sha256: str
    path: Path
    rows: int
    problems: int


def prepare() -> None:
    """Give every value of the Lab its default, and hold on to values of widgets that are not on the page now."""
    for name, value in DEFAULTS.items():
        st.session_state[name] = st.session_state.get(name, value)
    if "lab:policy" not in st.session_state:
        st.session_state["lab:policy"] = sample("premium_4_to_1").text()


@dataclass(frozen=True, slots=True)
class LabInputs:
    """What is on the page: the policy as read, what is wrong with the rest, the experiment where nothing is."""

    reading: PolicyReading
    problems: tuple[str, ...]
    experiment: Experiment | None


def inputs() -> LabInputs:
    """Read everything there is on the page."""
    text: str = st.session_state["lab:policy"]
    reading = read_policy(text)
    typed_alone = st.session_state["lab:workload_kind"] == "Typed queues" and st.session_state["lab:typed_alone"]
    if not reading.ok and not typed_alone:
        return LabInputs(reading, (), None)
    try:
        workload, problems = _workload(reading, typed_alone)
        if workload is None:
            return LabInputs(reading, problems, None)
        experiment = Experiment(
            policy_text="" if typed_alone else text,
            workload=workload,
            model=st.session_state["lab:model"],
            workers=st.session_state["lab:workers"],
            engine=_engine(),
            cursor_rule=st.session_state["lab:cursor_rule"],
            arrival_speedup_ratio=st.session_state["lab:speedup"],
            seed=st.session_state["lab:seed"],
        )
    except DrrError as error:
        return LabInputs(reading, (str(error),), None)
    return LabInputs(reading, (), experiment)


def _engine() -> EngineOptions:
    state = st.session_state
    return EngineOptions(
        max_num_seqs=state["lab:max_num_seqs"],
        max_num_batched_tokens=state["lab:max_num_batched_tokens"],
        block_size=state["lab:block_size"],
        num_gpu_blocks=state["lab:num_gpu_blocks"],
        enable_prefix_caching=state["lab:prefix_caching"],
        enable_chunked_prefill=state["lab:chunked_prefill"],
    )


def _workload(reading: PolicyReading, typed_alone: bool) -> tuple[Workload | None, tuple[str, ...]]:
    state = st.session_state
    kind = state["lab:workload_kind"]
    if kind == "Generated":
        spec = read_spec(state["lab:spec"])
        problems = tuple(d.text() for d in spec.diagnostics if d.severity == "error")
        return (None, problems) if problems else (SpecWorkload(state["lab:spec"]), ())
    if kind == "Typed queues":
        profile = None
        if not typed_alone and reading.document is not None:
            profile = reading.document.profile_for(state["lab:model"])
        typed = read_typed(state["lab:typed"], profile)
        problems = tuple(d.text() for d in typed.diagnostics if d.severity == "error")
        return (None, problems) if problems else (TypedWorkload(state["lab:typed"], state["lab:capacity"]), ())
    trace: StoredTrace | None = state.get("lab:trace")
    if trace is None:
        return None, ("choose a trace file first",)
    mapping = MAPPINGS[state["lab:mapping"]]
    return TraceWorkload(trace.name, trace.sha256, mapping, lenient=True, path=str(trace.path)), ()
