"""The player on the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import streamlit as st

from drr.charts.palette import class_slots
from drr.simulation.recording import Run
from drr.ui.catch_up import catch_up, note_due
from drr.ui.look import theme
from drr.ui.player import messages
from drr.ui.player.messages import View, message
from drr.ui.player.pack import pack, pack_id
from drr.ui.player.plotly_source import plotly_sources

Part = Literal["numbers", "timelines", "log"]
PARTS: tuple[Part, ...] = ("numbers", "timelines", "log")

_SLOTS = "player:slots"


def player(
    run: Run,
    *,
    key: str,
    start: int | None = None,
    parts: Sequence[Part] = PARTS,
    linked: str = "",
    stale: str = "",
    on_worker: Callable[[int], None] | None = None,
    press_worker: str = "",
    own_fragment: bool = True,
) -> View:
    """Show a recorded run with at least one step, and return what the browser shows of it.

    ``start`` is the step to begin with, by default a decision in the middle; later the playhead stays where it is,
    through reruns, other pages, themes and widths, and keeps its simulated time when ``run`` is another one. Players
    with the same ``linked`` text move together: decision by decision where it begins with ``decision:``, else in
    simulated time. ``stale`` says, over the dimmed picture, why it is not the one to expect. ``on_worker`` is called,
    before the script runs, with the index of an endpoint that was pressed on the stage; ``press_worker`` says what that
    does, such as "Block or free".

    Works inside of a fragment, and makes one of its own: only that runs again while the run is played. Players that
    move together need one fragment for all, since Streamlit runs one alone where several report at the same moment:
    ``own_fragment`` False leaves that to the caller.
    """
    begin = messages.middle_decision(run) if start is None else start
    press = press_worker if on_worker is not None else ""
    options = {"parts": list(parts), "linked": linked, "stale": stale, "press_worker": press}
    (_fragment if own_fragment else _draw)(run, key, begin, options, on_worker or _nothing)
    return current_view(run, key, begin)


def go_to(key: str, *, step: int | None = None, time_ms: float | None = None, run: Run | None = None) -> None:
    """Move the playhead of the player called ``key`` to a step (-1: the start) or to a simulated time.

    With ``run`` it moves as soon as that run is there, and not in the one before. To be called before the player is
    rendered, or in a callback.
    """
    number, run_id = time.time_ns() // 1_000_000, None if run is None else pack_id(run)
    st.session_state[f"{key}:go"] = {"number": number, "step": step, "time_ms": time_ms, "run": run_id}


def current_view(run: Run, key: str, start: int = -1) -> View:
    """What the player called ``key`` shows of ``run``, as it last said.

    While it has not said anything about ``run`` yet, or has not gone where :func:`go_to` sends it, this is where it is
    about to be, so that nothing a user does meanwhile is done somewhere else; ``start`` where it never stood anywhere.
    """
    state = st.session_state
    view = View.of(_said_by_browser(key), run, pack_id(run))
    if view is not None:
        state[f"{key}:heeded"] = max(view.heeded, state.get(f"{key}:heeded", 0))
        state[f"{key}:stood"] = (view.step, run.times_ms[view.step] if view.step >= 0 else None)
    go = state.get(f"{key}:go")
    is_due = go is not None and go["number"] > state.get(f"{key}:heeded", 0)
    if go is not None and is_due and go["run"] in (None, pack_id(run)):
        step = run.step_at_time(go["time_ms"]) if go["step"] is None else min(max(go["step"], -1), run.n_steps - 1)
        return View(step=step) if view is None else replace(view, step=step, visit=-1)
    if view is not None:
        return view
    stood = state.get(f"{key}:stood")
    return View(step=start if stood is None else _carried_over(run, *stood))


def _carried_over(run: Run, step: int, time_ms: float | None) -> int:
    """Where a player that stood at a step of another run stands in this one; playhead.js has the same rule."""
    if time_ms is None:
        return -1
    return step if step < run.n_steps and run.times_ms[step] == time_ms else run.step_at_time(time_ms)


@st.fragment
def _fragment(run: Run, key: str, start: int, options: dict[str, Any], on_worker: Callable[[int], None]) -> None:
    _draw(run, key, start, options, on_worker)


def _draw(run: Run, key: str, start: int, options: dict[str, Any], on_worker: Callable[[int], None]) -> None:
    catch_up()
    names = run.class_names
    # A class keeps its colour for the whole session, however the policy changes.
    slots = class_slots(names, keep=st.session_state.get(_SLOTS))
    st.session_state[_SLOTS] = {**st.session_state.get(_SLOTS, {}), **slots}
    now = theme()
    run_id = pack_id(run)
    blob = pack(run, now, keep=slots)
    note = {"to": key, "plotly": plotly_sources(), "start": start, "turn": _turn(key, (run_id, now.name, slots))}

    def heard() -> None:
        if not st.session_state.get(f"{key}:up"):
            st.session_state[f"{key}:up"] = True
            note_due()
        pressed = current_view(run, key, start).pressed
        if pressed is not None and pressed != st.session_state.get(f"{key}:pressed"):
            st.session_state[f"{key}:pressed"] = pressed
            on_worker(pressed[1])

    _component()(key=key, data=message(note, blob), default={"view": None}, on_view_change=heard)
    view = current_view(run, key, start)
    # One small message for all that changes while playing: every element costs the browser a rendering.
    settings = {**options, "go": st.session_state.get(f"{key}:go")}
    feeds: dict[str, Any] = {"said": {"to": key, "settings": settings, **messages.said(run, run_id, view)}}
    if view.timeline is not None:
        drawn = messages.timeline(run, run_id, view.timeline, theme=now, keep=slots)
        turn = _turn(f"{key}:timeline", (run_id, view.timeline, now.name, slots))
        feeds["timeline"] = message({"to": key, "turn": turn}, drawn)
    answered = f"{key}:csv_answered"
    if view.csv is not None and st.session_state.get(answered) != (run_id, view.csv):
        st.session_state[answered] = (run_id, view.csv)
        feeds["csv"] = message({"to": key}, messages.csv(run, view.csv))
    with st.container(key=f"player-feeds-{key}".replace(":", "-")):  # player.css hides it
        for kind, data in feeds.items():
            _component()(key=f"{key}:{kind}", data=data)


def warm_up() -> None:
    """Let the browser load plotly.js while the page is still being made; a page with a player calls this first."""
    with st.container(key="player-feeds-warm-up"):
        _component()(key="player:warm-up", data={"warm": plotly_sources()})


def _turn(name: str, shown: object) -> int:
    """How often something else was shown before: no message is like one of an earlier turn.

    Streamlit sends a large message once and then only its digest. Where two reruns follow each other quickly, a message
    that comes back after another one may have been dropped by the browser between the two.
    """
    last, turn = st.session_state.get(f"{name}:turn", (None, 0))
    if last != shown:
        turn += 1
        st.session_state[f"{name}:turn"] = (shown, turn)
    return int(turn)


def _nothing(_endpoint: int) -> None:
    """Nobody asked what is pressed."""


@cache
def _component() -> Callable[..., Any]:
    """The declared component, which takes a run or something to say; not made at import, when no runtime may be there.

    One for both, since the browser shares what a component knows only among mounts of the same one.
    """
    component: Callable[..., Any] = st.components.v2.component(
        "ringside.player", js="index.js", css="player.css", isolate_styles=False
    )
    return component


def _said_by_browser(key: str) -> Any:
    state: Any = st.session_state.get(key)
    return state.get("view") if state else None
