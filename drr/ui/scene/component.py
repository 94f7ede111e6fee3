"""The Streamlit component that plays a scene of :mod:`drr.charts.scene`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from drr.ui.player.plotly_source import plotly_sources


@dataclass(frozen=True, slots=True)
class Playing:
    """How a scene is played."""

    autoplay: bool = False
    """Start as soon as it is on the page; never for people who want less motion."""
    is_large: bool = False
    """Large captions, and keys that work wherever the focus is."""
    hold_ms: int = 0
    """How long to stand still at every moment, so that its caption can be read."""
    speed: float = 0.5
    """Simulated over real time at the start."""
    moment: str = ""
    """Where to stand at first: the name of a moment."""
    round: int = 0
    """Another number starts over: back to the start, and autoplay again."""


def scene_player(
    scenes: Sequence[Mapping[str, Any]],
    *,
    key: str,
    pictures: str,
    playing: Playing,
    on_moment: Callable[[], None],
    on_reset: Callable[[], None],
) -> None:
    """Show a scene, made at several widths: the browser takes the widest that fits and keeps its time on new data.

    ``pictures`` names what the scenes show: under the same name they are not drawn again when the page comes back.
    ``on_moment`` is called when somebody chose a moment (its name is in ``st.session_state[key]["moment"]``),
    ``on_reset`` when somebody pressed the reset key.
    """
    data = {
        "name": key,
        "pictures": pictures,
        "scenes": list(scenes),
        "playing": {name: getattr(playing, name) for name in Playing.__slots__},
        "plotly": plotly_sources(),
    }
    _component()(key=key, data=data, on_moment_change=on_moment, on_reset_change=on_reset)


@cache
def _component() -> Callable[..., Any]:
    component: Callable[..., Any] = st.components.v2.component(
        "ringside.scene", js="scene.js", css="scene.css", isolate_styles=False
    )
    return component


def moment_of(sent: Any, names: Sequence[str]) -> str:
    """The moment that a message of the browser names; "" where it names none of ``names``."""
    name = sent.get("moment") if isinstance(sent, Mapping) else None
    return name if isinstance(name, str) and name in names else ""
