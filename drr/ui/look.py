"""Small things every page shares: the theme in force, text made safe."""

from __future__ import annotations

import re

import streamlit as st

from drr.charts.palette import DARK, LIGHT, Theme

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$~:&])")


def theme() -> Theme:
    """The palette of the theme the browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def plain(text: str) -> str:
    """Text from outside, so that Markdown shows it as it is written."""
    return _MARKDOWN.sub(r"\\\1", text)
