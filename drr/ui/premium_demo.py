"""What the Premium demo page shows: the burst twice, figures beside published ones, the spike, a mode for speakers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from drr.analysis.premium import (
    FIRST,
    PREMIUM_QUANTUM_TOKENS,
    PUBLISHED,
    REGULAR_QUANTUM_TOKENS,
    WHY_THEY_DIFFER,
    burst_experiment,
    burst_figures,
    burst_moments,
    equal_experiment,
    shipped_line,
    spike_experiment,
    spike_moments,
)
from drr.charts.burst_scene import burst_scene
from drr.charts.palette import THEMES
from drr.charts.spike_scene import spike_scene
from drr.simulation.recording import Run
from drr.ui import export, held, runs, stage_view
from drr.ui.look import plain, theme
from drr.ui.scene.component import Playing, moment_of, scene_player

QUANTA = (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Premium quanta to choose from; regular keeps its 128."""
WIDTHS = (560, 800, 1000, 1320)
SPEAKER_WIDTHS = (700, 1000, 1320)
SPEAKER_SCALE, SPEAKER_SPIKE_SCALE = 1.25, 1.12
"""How much larger type and marks are for an audience; the spike has three panels to fit on a projector."""
SPEAKER_HOLD_MS = 3_500
BURST, SPIKE = "The burst", "The spike"

_QUANTUM, _SPEAKER, _STARTED, _ROUND, _SCENE, _DECISIONS = (
    f"premium:{name}" for name in ("quantum", "speaker", "started", "round", "scene", "decisions")
)
_BURST_KEY, _SPIKE_KEY = "premium-burst", "premium-spike"
_SPEAKER_CSS = """
<style>
html { font-size: clamp(16px, 1.45vw, 24px); }
[data-testid="stMainBlockContainer"] { padding: 0.6rem 1.6rem 1rem; max-width: none; }
[data-testid="stHeader"], [data-testid="stToolbar"] { display: none; }
</style>
"""


def prepare() -> None:
    """Give the page's values their defaults; on the first look a link says what they are."""
    state, link = st.session_state, st.query_params
    first = {_QUANTUM: PREMIUM_QUANTUM_TOKENS, _SPEAKER: False, _DECISIONS: False, _SCENE: BURST}
    held.hold("Premium demo", first)
    if _STARTED not in state:
        quantum = link.get("quantum", "")
        state[_QUANTUM] = int(quantum) if quantum in map(str, QUANTA) else PREMIUM_QUANTUM_TOKENS
        state[_SPEAKER] = link.get("speaker") == "1"
        state[_STARTED] = "moment" in link or state[_SPEAKER]
        state[_ROUND] = 0
        state[_SCENE] = SPIKE if link.get("moment") in _spike_names() else BURST
        held.keep("Premium demo", first)


def is_speaker_mode() -> bool:
    """Whether the page is laid out for an audience."""
    return bool(st.session_state[_SPEAKER])


def is_started() -> bool:
    """Whether the experiment was asked for."""
    return bool(st.session_state[_STARTED])


def show_start() -> None:
    """What the demonstration is, and the button that runs it."""
    st.subheader("Premium first, regular never stopped", anchor=False)
    st.markdown(
        f"{FIRST} premium and {FIRST} regular requests of 512 tokens come at the same moment to one worker that runs "
        "four at a time. Once the router serves both classes with **equal quanta**, once with **512 : 128** tokens per "
        "round. Who is answered first?"
    )
    st.button("Run the seed experiment", type="primary", on_click=_start)


def show_controls(weighted: Run) -> None:
    """Premium's quantum, which may be dragged while everything plays, the button, and the speaker mode."""
    slider, button, speaker = st.columns([5, 2, 3], vertical_alignment="center", gap="large")
    with slider:
        _quantum_slider()
    button.button("Run again", type="primary", on_click=_start, width="stretch")
    with speaker:
        _speaker_toggle()
    st.caption(plain(shipped_line(weighted)))


def _quantum_slider() -> None:
    st.select_slider(
        f"Premium's quantum, tokens per round (regular has {REGULAR_QUANTUM_TOKENS})",
        QUANTA,
        key=_QUANTUM,
        format_func=lambda quantum: f"{quantum:,}",
        on_change=_link_quantum,
    )


def _speaker_toggle() -> None:
    st.toggle("Speaker mode", key=_SPEAKER, on_change=_link_speaker, help="Large type, captions, plays by itself.")


def run_burst() -> tuple[Run | None, Run | None]:
    """The burst with equal quanta and with the chosen ones; None while a first run is on its way."""
    even = _run_of(equal_experiment(), "premium:equal")
    return even, _run_of(burst_experiment(st.session_state[_QUANTUM]), "premium:weighted")


def show_result(equal: Run, weighted: Run) -> None:
    """The result in one sentence."""
    mine, even = burst_figures(weighted).first, burst_figures(equal).first
    quantum = weighted.profile.classes[0].quantum
    said = (
        f"With {quantum:,} : {REGULAR_QUANTUM_TOKENS} premium has {mine[0]} of the first {FIRST} answers, "
        f"with equal quanta {even[0]}."
    )
    st.subheader(plain(said), anchor=False)


def show_burst(equal: Run, weighted: Run) -> None:
    """The burst under both policies, playing."""
    moments = burst_moments(equal, weighted)
    names = tuple(moment.name for moment in moments)
    key = f"burst {weighted.profile.classes[0].quantum}"
    _play(key, (equal, weighted), _BURST_KEY, names, autoplay=True)


def show_spike() -> None:
    """The spike and its end, playing."""
    run = _run_of(spike_experiment(), "premium:spike")
    if run is not None:
        _play("spike", (run,), _SPIKE_KEY, _spike_names(), autoplay=is_speaker_mode())


def show_to_audience(equal: Run, weighted: Run) -> None:
    """One scene at a time, large, with the quantum to drag above it."""
    st.html(_SPEAKER_CSS)
    choice, slider, speaker = st.columns([3, 5, 2.4], vertical_alignment="center")
    choice.segmented_control("Scene", (BURST, SPIKE), key=_SCENE, label_visibility="collapsed", required=True)
    with speaker:
        _speaker_toggle()
    if st.session_state[_SCENE] == SPIKE:
        show_spike()
        return
    with slider:
        _quantum_slider()
    show_burst(equal, weighted)
    st.caption(plain(shipped_line(weighted)))


def show_table(equal: Run, weighted: Run) -> None:
    """Our figures beside the published ones, and why they differ."""
    base = _run_of(burst_experiment(PREMIUM_QUANTUM_TOKENS), "premium:base")
    even = burst_figures(equal)
    lines = [
        f"| | first {FIRST}, {PREMIUM_QUANTUM_TOKENS} : {REGULAR_QUANTUM_TOKENS} | regular left when premium is done "
        f"| first {FIRST}, equal | left |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.source} | {r.first} | {r.left} | {r.equal_first or '–'} | {r.equal_left or '–'} |" for r in PUBLISHED
    ]
    if base is not None:
        mine = burst_figures(base)
        equal_part = f"{even.first[0]} : {even.first[1]} | {even.left[1]}"
        lines.append(
            f"| **Ringside** | **{mine.first[0]} : {mine.first[1]}** | **{mine.left[1]}** | {_bold(equal_part)} |"
        )
    quantum = weighted.profile.classes[0].quantum
    if quantum != PREMIUM_QUANTUM_TOKENS:
        mine = burst_figures(weighted)
        lines.append(f"| Ringside, {quantum:,} : 128 | {mine.first[0]} : {mine.first[1]} | {mine.left[1]} | | |")
    left, right = st.columns([3, 2], gap="large")
    left.markdown("\n".join(lines))
    left.caption("premium : regular. Published figures and our own, counted over the same 640 requests.")
    right.markdown("**Why 255 and not 256**\n\n" + "\n\n".join(map(plain, WHY_THEY_DIFFER)))


def show_decisions(weighted: Run) -> None:
    """Every decision of the weighted run on the stage, and files of it."""
    if st.toggle("Show every decision of the weighted run", key=_DECISIONS):
        stage_view.show(weighted, slot="premium", start=weighted.decision_steps[0], parts=("numbers",))
        quanta = " : ".join(f"{c.quantum:,}" for c in weighted.profile.classes)
        export.show(weighted, slot="premium", title=f"Premium and regular, {quanta}")


def _bold(cells: str) -> str:
    return " | ".join(f"**{cell}**" for cell in cells.split(" | "))


def _run_of(experiment: Any, slot: str) -> Run | None:
    """The run of an experiment, the last one while a new one is on its way, with progress and trouble said."""
    view = runs.run_of(experiment, slot)
    runs.show_state(view, slot)
    return view.run


@st.cache_resource(max_entries=60, show_spinner=False)
def _scenes(what: str, theme_name: str, is_large: bool, *, _runs: tuple[Run, ...]) -> list[dict[str, Any]]:
    """A scene at every width. ``what`` names the runs, which are equal wherever it is."""
    look = THEMES[theme_name]
    widths = SPEAKER_WIDTHS if is_large else WIDTHS
    if what == "spike":
        moments, scale = spike_moments(_runs[0]), SPEAKER_SPIKE_SCALE if is_large else 1.0
        return [spike_scene(_runs[0], moments, theme=look, width=width, scale=scale) for width in widths]
    equal, weighted = _runs
    scale = SPEAKER_SCALE if is_large else 1.0
    moments = burst_moments(equal, weighted)
    return [burst_scene(equal, weighted, moments, theme=look, width=width, scale=scale) for width in widths]


def _play(what: str, shown: tuple[Run, ...], key: str, moments: tuple[str, ...], *, autoplay: bool) -> None:
    speaker, look = is_speaker_mode(), theme().name
    scenes, pictures = _scenes(what, look, speaker, _runs=shown), f"{what} {look} {speaker}"
    linked = st.query_params.get("moment", "")
    playing = Playing(
        autoplay=autoplay,
        is_large=speaker,
        hold_ms=SPEAKER_HOLD_MS if speaker else 0,
        moment=linked if linked in moments else "",
        round=st.session_state[_ROUND],
    )
    on_moment = _link_moment(key, moments)
    scene_player(scenes, key=key, pictures=pictures, playing=playing, on_moment=on_moment, on_reset=_reset)


def _spike_names() -> tuple[str, ...]:
    return ("quiet", "spike", "share", "fades", "alone", "after")


# --- callbacks -----------------------------------------------------------------------------------------------


def _start() -> None:
    st.session_state[_STARTED] = True
    st.session_state[_ROUND] += 1
    st.query_params.pop("moment", None)


def _reset() -> None:
    """Everything as it was at first; an audience sees it play again."""
    st.session_state[_QUANTUM] = PREMIUM_QUANTUM_TOKENS
    st.query_params.pop("moment", None)
    st.query_params.pop("quantum", None)
    if is_speaker_mode():
        st.session_state[_ROUND] += 1


def _link_moment(key: str, names: tuple[str, ...]) -> Any:
    def link() -> None:
        name = moment_of(st.session_state.get(key), names)
        if name:
            st.query_params["moment"] = name

    return link


def _link_quantum() -> None:
    st.query_params["quantum"] = str(st.session_state[_QUANTUM])


def _link_speaker() -> None:
    if st.session_state[_SPEAKER]:
        st.query_params["speaker"] = "1"
    else:
        st.query_params.pop("speaker", None)
