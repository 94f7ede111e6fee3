"""The few rules of style that Streamlit has no setting for."""

from __future__ import annotations

import streamlit as st

_CSS = """
<style>
/* Streamlit leaves 6rem above the first line, room that the stage needs; the menu takes 3.75rem of it. */
[data-testid="stMainBlockContainer"] { padding: 4.4rem 2rem 3rem; }
[data-testid="stAppViewContainer"] h3 { padding-top: 0; }
/* Streamlit's greyed text has a contrast of 4.4 : 1 on white, and white on its dark theme's primary colour 3.8 : 1;
   4.5 : 1 can be read by most people. */
[data-testid="stCaptionContainer"] { opacity: 0.74; }
[data-testid="stBaseButton-primary"]:not(:disabled) { background-image: linear-gradient(#0003, #0003); }
.st-key-doctor [data-testid="stMarkdownContainer"] :is(p, strong) { font-size: 0.875rem; }
/* The Lab's two sides stand above each other where the stage would have no room beside the editor. */
@media (max-width: 1150px) {
  .st-key-sides > [data-testid="stHorizontalBlock"],
  .st-key-sides [data-testid="stLayoutWrapper"]:first-child > [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  .st-key-sides > * > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"],
  .st-key-sides > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"] { min-width: 100%; }
}
</style>
"""


def apply() -> None:
    """Put the rules on the page."""
    st.html(_CSS)
