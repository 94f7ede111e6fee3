"""How far a job is: a bar with words on it, and the button that gives the job up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from drr.analysis.words import counted


def show_bar(
    over: int,
    total: int,
    text: str,
    *,
    key: str,
    cancel: Callable[..., None],
    args: Sequence[object] = (),
    word: str = "Cancel",
    is_narrow: bool = False,
) -> None:
    """Draw ``over`` of ``total``, where 0 in all means that nobody knows yet."""
    bar, button = st.columns([5, 2 if is_narrow else 1], vertical_alignment="center")
    bar.progress(min(over / total, 1.0) if total else 0.0, text=text)
    button.button(word, key=key, on_click=cancel, args=tuple(args))


def waiting_text(ahead: int) -> str:
    """What a job waits for that has so many others before it."""
    return f"waiting for {counted(ahead, 'other run')} to end"
