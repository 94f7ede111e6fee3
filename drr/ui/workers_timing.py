"""Timing of the engines: the mock engine's own, fixed, by tokens per second, by coefficients, or fitted to TTFTs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from drr.analysis.ttft_fit import COEFFICIENTS, TtftFit, fit_ttft, read_points
from drr.errors import WorkloadError
from drr.simulation.engine_options import FixedTiming, PolynomialTiming
from drr.ui.look import plain

Timing = FixedTiming | PolynomialTiming | None

OWN = "the mock engine's own"
FIXED = "fixed time per pass"
RATES = "tokens per second"
POLYNOMIAL = "polynomial"
FITTED = "fitted to my TTFTs"
KINDS = (OWN, FIXED, RATES, POLYNOMIAL, FITTED)
_KIND, _POINTS, _CURVE = "lab:timing_kind", "lab:timing_points", "lab:timing_curve"


def kind_of(timing: Timing) -> str:
    """The kind that a timing model is shown as."""
    if timing is None:
        return OWN
    if isinstance(timing, FixedTiming):
        return FIXED
    is_rate = timing.prefill[::2] == (0.0, 0.0) and timing.decode[:2] == (0.0, 0.0)
    return RATES if is_rate and timing.prefill[1] > 0 and timing.decode[2] > 0 else POLYNOMIAL


def of_rates(prompt_per_second: float, output_per_second: float) -> PolynomialTiming:
    """Prefill at so many prompt tokens per second, decode at so many output tokens per second and request."""
    return PolynomialTiming((0.0, 1000.0 / prompt_per_second, 0.0), (0.0, 0.0, 1000.0 / output_per_second))


_STARTS: dict[str, Timing] = {
    OWN: None,
    FIXED: FixedTiming(30.0, 10.0),
    RATES: of_rates(20_000.0, 50.0),
    POLYNOMIAL: PolynomialTiming(),
}


def show() -> None:
    """Draw the kind and its numbers; edits put another model into ``lab:timing_model``."""
    timing: Timing = st.session_state["lab:timing_model"]
    revision = st.session_state["lab:revision"]
    key = f"timing:kind:{revision}"
    # Points are fitted by a polynomial, so the model alone does not say that they were.
    is_fitted = st.session_state[_KIND] == (FITTED, revision)
    shown = KINDS.index(FITTED if is_fitted else kind_of(timing))
    st.selectbox("Timing of a pass", KINDS, shown, key=key, on_change=_set_kind, args=(key, revision))
    kind: str = st.session_state[key]
    if kind == FITTED:
        _fitted()
    elif isinstance(timing, FixedTiming):
        _numbers(
            {"Prefill, ms": timing.prefill_ms, "Decode, ms": timing.decode_ms},
            f"timing:fixed:{revision}",
            lambda values: FixedTiming(*values),
        )
    elif kind == RATES and isinstance(timing, PolynomialTiming):
        _numbers(
            {"Prompt tokens/s": 1000.0 / timing.prefill[1], "Output tokens/s per request": 1000.0 / timing.decode[2]},
            f"timing:rates:{revision}",
            lambda values: of_rates(*(max(each, 0.001) for each in values)),
        )
    elif kind == POLYNOMIAL and isinstance(timing, PolynomialTiming):
        st.caption(
            "Prefill, ms = c2 T² + c1 T + c0 for the T tokens of a pass; decode over the fill of the KV pool, 0 to 1"
        )
        names = ("c2", "c1", "c0")
        _numbers(
            {
                **{f"Prefill {n}": v for n, v in zip(names, timing.prefill, strict=True)},
                **{f"Decode {n}": v for n, v in zip(names, timing.decode, strict=True)},
            },
            f"timing:polynomial:{revision}",
            lambda values: PolynomialTiming((values[0], values[1], values[2]), (values[3], values[4], values[5])),
            low=None,
        )


def _set_kind(key: str, revision: int) -> None:
    kind: str = st.session_state[key]
    st.session_state[_KIND] = (kind, revision)
    if kind in _STARTS:
        st.session_state["lab:timing_model"] = _STARTS[kind]
    else:
        _fit()


def _numbers(
    values: dict[str, float], prefix: str, make: Callable[[list[float]], Timing], *, low: float | None = 0.0
) -> None:
    keys = [f"{prefix}:{label}" for label in values]

    def changed() -> None:
        st.session_state["lab:timing_model"] = make([st.session_state[key] for key in keys])

    columns = st.columns(min(len(values), 3))
    for number, (label, value) in enumerate(values.items()):
        columns[number % len(columns)].number_input(
            label, low, None, value, key=keys[number], format="%.7g", on_change=changed
        )


# Fitted


def _fitted() -> None:
    st.text_area(
        "Your points: prompt tokens and TTFT in ms, one per line",
        key=_POINTS,
        height=110,
        placeholder="512 31.5\n2048 52\n8192 170",
        on_change=_fit,
        help="Single requests on an idle worker, without cache hits.",
    )
    st.segmented_control("Curve", list(COEFFICIENTS), key=_CURVE, on_change=_fit, required=True)
    text: str = st.session_state[_POINTS]
    if not text.strip():
        st.caption("Paste at least three lengths. Until then the last timing model stays in force.")
        return
    try:
        points = read_points(text)
        fit = fit_ttft(points, st.session_state[_CURVE])
    except WorkloadError as error:
        st.error(plain(str(error)))
        return
    st.caption(plain(fit_text(fit)))
    if fit.falls:
        st.warning(
            "This curve falls somewhere: a longer prompt would take less time. Try the linear one, or more points."
        )
    rows: list[dict[str, Any]] = [
        {"tokens": tokens, "measured, ms": ms, "fitted, ms": ms - residual, "residual, ms": residual}
        for (tokens, ms), residual in zip(points, fit.residuals_ms, strict=True)
    ]
    number = st.column_config.NumberColumn(format="%.2f")
    config = {name: number for name in rows[0] if name != "tokens"}
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=config)


def fit_text(fit: TtftFit) -> str:
    """What came out, in one line."""
    c2, c1, c0 = fit.prefill
    square = f"{c2:.3g} T² + " if c2 else ""
    return (
        f"In force: TTFT = {square}{c1:.4g} T + {c0:.4g} ms; largest residual {fit.largest_residual_ms:,.2f} ms, "
        f"R² {fit.r_squared:.4f}. Decode is the mock engine's own."
    )


def _fit() -> None:
    """Put the fit into force, where there is one."""
    try:
        fit = fit_ttft(read_points(st.session_state[_POINTS]), st.session_state[_CURVE])
    except WorkloadError:
        return
    st.session_state["lab:timing_model"] = PolynomialTiming(prefill=fit.prefill)
