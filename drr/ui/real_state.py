"""What the Real router page holds for a session: what was asked of the real router, and the fields of the probe."""

from __future__ import annotations

import os

import streamlit as st

from drr.dynamo.probe_plan import (
    CLASS_HEADER,
    PROMPT_KINDS,
    ProbeError,
    ProbePlan,
    is_loopback,
    read_classes,
    read_target,
)
from drr.ui import held, lab_state
from drr.workload.experiment import Experiment

KEY_VARIABLE = "RINGSIDE_PROBE_KEY"
"""The environment variable whose value goes along as the endpoint's key."""
HOSTS_VARIABLE = "RINGSIDE_PROBE_HOSTS"
"""Hosts that the page may probe, with commas between them; the key goes to none that is not named there."""

REPLAY, PROBE = "Replay beside ours", "Probe a live endpoint"
AT_ONCE, PACED = "all at once", "paced"

DEFAULTS: dict[str, object] = {
    "real:shown_tab": REPLAY,
    "real:asked": None,
    "real:rule": None,
    "probe:url": "http://127.0.0.1:8123",
    "probe:model": "m",
    "probe:classes": "premium=320 regular=320",
    "probe:tokens": 512,
    "probe:output_tokens": 1,
    "probe:pace": AT_ONCE,
    "probe:per_second": 20.0,
    "probe:max_seconds": 120,
    "probe:idle_seconds": 60,
    "probe:prompt": PROMPT_KINDS[0],
    "probe:vocabulary": 8_000,
    "probe:header": CLASS_HEADER,
    "probe:seed": 0,
    "probe:predict": True,
    "probe:job": None,
    "probe:error": "",
}


def prepare() -> None:
    """Give every value of the page its default, and hold on to those whose widgets are not on the page now."""
    lab_state.prepare()
    held.hold("Real router", DEFAULTS)


def first_tab() -> str:
    """The tab to open with: the one that was open when the page was left. It stays the same while the page is there."""
    state = st.session_state
    if "real:tab" not in state:
        state["real:first_tab"] = state["real:shown_tab"]
    return str(state.get("real:first_tab", REPLAY))


def note_tab() -> None:
    """Remember which tab is open."""
    st.session_state["real:shown_tab"] = st.session_state["real:tab"]


def lab_experiment() -> Experiment | None:
    """What the Lab holds, None where that is not valid."""
    return lab_state.inputs().experiment


def allowed_hosts() -> frozenset[str] | None:
    """The hosts the page may probe; None where whoever runs the server named none and has it for himself: then any.

    A server that others reach probes no host that was not named: it can see more of its network than they do.
    """
    names = os.environ.get(HOSTS_VARIABLE, "")
    found = frozenset(name.strip().lower() for name in names.split(",") if name.strip())
    return found if found or not is_loopback(st.get_option("server.address") or "") else None


def key_variable(url: str) -> tuple[str | None, str]:
    """The variable of the key that goes along, and what to say about it.

    Whoever sees the page names the target, so the key goes only to hosts that the server's owner named beside it.
    """
    if not os.environ.get(KEY_VARIABLE):
        return None, f"No key goes along. Whoever starts the server can set {KEY_VARIABLE} and {HOSTS_VARIABLE}."
    hosts = allowed_hosts()
    if hosts is None or read_target(url).host not in hosts:
        return None, f"The key in {KEY_VARIABLE} does not go along: {HOSTS_VARIABLE} does not name this host."
    return KEY_VARIABLE, f"The key in {KEY_VARIABLE} goes along."


def plan() -> ProbePlan:
    """The probe as it stands in the fields; raises :class:`ProbeError` where something is not allowed."""
    state = st.session_state
    target = read_target(state["probe:url"])
    hosts = allowed_hosts()
    if hosts is not None and target.host not in hosts:
        allowed = f"{', '.join(sorted(hosts))} only" if hosts else "no host, since others can reach it"
        raise ProbeError(f"this server may probe {allowed} ({HOSTS_VARIABLE} sets it)")
    return ProbePlan(
        url=state["probe:url"].strip(),
        model=state["probe:model"].strip(),
        classes=read_classes(state["probe:classes"]),
        prompt_tokens=state["probe:tokens"],
        output_tokens=state["probe:output_tokens"],
        per_second=state["probe:per_second"] if state["probe:pace"] == PACED else None,
        max_seconds=float(state["probe:max_seconds"]),
        idle_seconds=float(state["probe:idle_seconds"]),
        prompt=state["probe:prompt"],
        vocabulary=state["probe:vocabulary"],
        header=state["probe:header"].strip(),
        key_variable=key_variable(state["probe:url"])[0],
        seed=state["probe:seed"],
    )
