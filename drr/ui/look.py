"""Small things every page shares: the theme in force, the names of the cursor rules, text made safe."""

from __future__ import annotations

import re

import streamlit as st

from drr.charts.palette import DARK, LIGHT, Theme

RULE_NAMES = {"documented": "documented", "carry": "shipped (carry)"}
"""The cursor rules as every page names them."""
_CODE = re.compile(r"`([^`\n]+)`")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$~:&])")


def theme() -> Theme:
    """The palette of the theme the browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def plain(text: str) -> str:
    """Text from outside, so that Markdown shows it as it is written."""
    return _MARKDOWN.sub(r"\\\1", text)


def with_code(text: str) -> str:
    """The same for messages of ours, which put what is code between backquotes: that is shown as code."""
    pieces = _CODE.split(text)
    return "".join(f"`{piece}`" if number % 2 else plain(piece) for number, piece in enumerate(pieces))
