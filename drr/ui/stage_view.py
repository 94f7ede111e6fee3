"""The stage of a run on a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from drr.simulation.recording import Run
from drr.ui.player import messages
from drr.ui.player.component import PARTS, Part, go_to, player, warm_up
from drr.ui.player.messages import View

__all__ = ["arrive", "is_up", "show", "warm_up"]


def arrive(run: Run, place: tuple[int | None] | None, *, slot: str, key: str = "stage") -> None:
    """Have the playhead stand at a step of a run that is new on the page, None for a step in its middle."""
    if place is not None:
        step = messages.middle_decision(run) if place[0] is None else place[0]
        go_to(f"{slot}:{key}", step=step, run=run)


def is_up(slot: str, key: str = "stage") -> bool:
    """Whether the browser has drawn the player once; until then the page is better off without heavy parts."""
    return bool(st.session_state.get(f"{slot}:{key}:up"))


def show(
    run: Run,
    *,
    key: str = "stage",
    slot: str = "lab",
    start: int | None = None,
    parts: Sequence[Part] = PARTS,
    linked: str = "",
    stale: str = "",
    on_worker: Callable[[int], None] | None = None,
    press_worker: str = "",
) -> View | None:
    """Show the player of a run, or say that there is nothing to show; see :func:`drr.ui.player.component.player`.

    ``slot`` is the page's place that the player belongs to: its playhead is kept per slot and key.
    """
    if run.n_steps == 0:
        st.info("Nothing happened in this run: no request arrived. Add requests under Workload.")
        return None
    return player(
        run,
        key=f"{slot}:{key}",
        start=start,
        parts=parts,
        linked=linked,
        stale=stale,
        on_worker=on_worker,
        press_worker=press_worker,
    )
