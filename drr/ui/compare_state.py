"""What the Compare page holds: one workload, and for A and B a policy, an arbitration and a number of workers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from drr.errors import DrrError
from drr.policy import dump_policy
from drr.policy.samples import SAMPLES, sample
from drr.policy.schema import PolicyDocument
from drr.scheduler.arbiters import ARBITERS, ArbiterName
from drr.scheduler.ring import CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.ui import held, lab_state
from drr.workload.experiment import Experiment, SpecWorkload, TypedWorkload
from drr.workload.scenarios import scenario
from drr.workload.typed import typed_profile

SIDES = ("A", "B")
DOCUMENTED: Final = "documented"
SHIPPED: Final = "carry"
ARBITRATION: dict[str, str] = {
    DOCUMENTED: "DRR as Dynamo documents it",
    SHIPPED: "DRR as the shipped router does it (carry)",
    **{name: title for name, title in ARBITERS.items() if name != "drr"},
}
"""What may arbitrate on a side: the router's DRR under either cursor rule, or a rival."""

FROM_LAB = "lab"
OWN = "own"
_QUANTUM = re.compile(r"(?m)^(\s*[^\s:(#*]+)\s*\([^)]*\)\s*:")


@dataclass(frozen=True, slots=True)
class Preset:
    """A comparison to begin with: a base experiment and what A and B change of it."""

    title: str
    base: Callable[[], Experiment]
    first: str = DOCUMENTED
    second: str = SHIPPED
    second_policy: Callable[[], str] | None = None


def _one_per_drain() -> Experiment:
    """Quanta 1,000 and 100, requests of 50 tokens, and room for one request at a time."""
    burst = scenario("quanta_above_costs").experiment
    assert isinstance(burst.workload, SpecWorkload)
    policy = re.sub(r"quantum: \d+", "quantum: 1000", burst.policy_text, count=1)
    policy = re.sub(r"(?s)(quantum: 1000.*?)quantum: \d+", r"\1quantum: 100", policy, count=1)
    return replace(
        burst,
        policy_text=policy,
        workload=SpecWorkload(burst.workload.text.replace("64", "50")),
        engine=EngineOptions(max_num_seqs=1, enable_prefix_caching=False),
        cursor_rule="documented",
    )


def _typed(text: str) -> Experiment:
    return Experiment(policy_text="", workload=TypedWorkload(text))


_SMALL_QUANTA = f"""\
W (5): {"10 " * 200}
K (5): {"100 " * 40}
J (5): {"10 " * 200}
"""

PRESETS = {
    "above": Preset("Documented against shipped: quanta far above the costs", _one_per_drain),
    "burst": Preset(
        "Documented against shipped: premium burst, 512 : 128", lambda: scenario("premium_burst").experiment
    ),
    "share": Preset(
        "Premium 4 : 1 against equal quanta",
        lambda: scenario("premium_burst").experiment,
        second=DOCUMENTED,
        second_policy=lambda: scenario("equal_control").experiment.policy_text,
    ),
    "grant": Preset(
        "One quantum per round against one per request",
        lambda: scenario("lecture").experiment,
        second="quantum_per_request",
    ),
    "classic": Preset(
        "The router's DRR against classic DRR: quanta below the costs",
        lambda: _typed(_SMALL_QUANTA),
        second="classic_drr",
    ),
    "spike": Preset(
        "DRR against strict priority: a premium spike", lambda: scenario("spike").experiment, second="strict"
    ),
    "fcfs": Preset("DRR against first come, first served", lambda: scenario("spike").experiment, second="fcfs"),
}

_PRESET, _BASE, _OPENED = "cmp:preset", "cmp:base", "cmp:opened"
_OF_A_SIDE = ("policy", "source", "arbitration", "workers")


def key_of(side: str, what: str) -> str:
    """Where the session keeps ``what`` of a side: policy, source, arbitration or workers."""
    return f"cmp:{what}:{side}"


def with_policy(experiment: Experiment) -> Experiment:
    """The same experiment with its policy as a text: typed queues that name their own quanta are given one.

    So A and B may change a quantum while the requests stay the same bytes.
    """
    workload = experiment.workload
    if experiment.policy_text.strip() or not isinstance(workload, TypedWorkload):
        return experiment
    policy = dump_policy(PolicyDocument(typed_profile(workload.text)))
    bare = TypedWorkload(_QUANTUM.sub(r"\1:", workload.text), workload.capacity)
    return replace(experiment, policy_text=policy, workload=bare)


def prepare() -> None:
    """Give the page its defaults; a link that was just opened names a comparison."""
    state = st.session_state
    names = [_PRESET, *(key_of(side, what) for side in SIDES for what in _OF_A_SIDE)]
    held.hold("Compare", dict.fromkeys(names))
    asked = st.query_params.get("compare")
    if _BASE not in state or (asked is not None and asked != state[_OPENED]):
        state[_PRESET] = asked if asked in PRESETS else next(iter(PRESETS))
        load_preset()
        held.keep("Compare", names)


def load_preset() -> None:
    """Put the chosen comparison on the page."""
    state = st.session_state
    chosen: str = state[_PRESET]
    if chosen == FROM_LAB:
        lab_state.prepare()
        experiment = lab_state.inputs().experiment
        if experiment is None:
            return
        preset = Preset("", lambda: experiment)
        st.query_params.pop("compare", None)  # a link cannot know what the Lab holds
    else:
        preset = PRESETS[chosen]
        st.query_params["compare"] = chosen
    state[_OPENED] = st.query_params.get("compare")
    base = with_policy(preset.base())
    state[_BASE] = base
    second = base.policy_text if preset.second_policy is None else preset.second_policy()
    for side, text, arbitration in (("A", base.policy_text, preset.first), ("B", second, preset.second)):
        state[key_of(side, "policy")] = text
        state[key_of(side, "source")] = OWN
        state[key_of(side, "arbitration")] = arbitration
        state[key_of(side, "workers")] = base.workers


def show_presets() -> None:
    """The comparisons to choose from."""
    names = [*PRESETS, FROM_LAB]
    st.selectbox(
        "Comparison",
        names,
        key=_PRESET,
        format_func=lambda name: (
            "What the Lab holds, documented against shipped" if name == FROM_LAB else PRESETS[name].title
        ),
        on_change=load_preset,
    )


def _choose_policy(side: str) -> None:
    name = st.session_state[key_of(side, "source")]
    if name != OWN:
        st.session_state[key_of(side, "policy")] = sample(name).text()


def _edited(side: str) -> None:
    st.session_state[key_of(side, "source")] = OWN


def show_side(side: str) -> None:
    """What may differ between A and B."""
    titles = {OWN: "as it stands below", **{each.name: each.title for each in SAMPLES}}
    rule, workers = st.columns([3, 1])
    rule.selectbox(
        f"{side} is arbitrated by",
        list(ARBITRATION),
        key=key_of(side, "arbitration"),
        format_func=ARBITRATION.__getitem__,
    )
    workers.number_input("Workers", 1, 64, key=key_of(side, "workers"))
    with st.expander(f"Policy of {side}"):
        st.selectbox(
            "Take a sample",
            list(titles),
            key=key_of(side, "source"),
            format_func=titles.__getitem__,
            on_change=_choose_policy,
            args=(side,),
        )
        st.text_area(
            "Policy, YAML",
            key=key_of(side, "policy"),
            height=300,
            on_change=_edited,
            args=(side,),
            help="Ctrl+Enter applies.",
        )


def experiment_of(side: str) -> tuple[Experiment | None, str]:
    """The experiment of a side, or why there is none."""
    state = st.session_state
    arbitration: str = state[key_of(side, "arbitration")]
    rule: CursorRule = SHIPPED if arbitration == SHIPPED else DOCUMENTED
    arbiter: ArbiterName = "drr" if arbitration in (DOCUMENTED, SHIPPED) else _arbiter(arbitration)
    base: Experiment = state[_BASE]
    made = replace(
        base,
        policy_text=state[key_of(side, "policy")],
        workers=state[key_of(side, "workers")],
        cursor_rule=rule,
        arbiter=arbiter,
    )
    try:
        made.profile()
    except DrrError as error:
        return None, str(error)
    return made, ""


def _arbiter(name: str) -> ArbiterName:
    return next(each for each in ARBITERS if each == name)
