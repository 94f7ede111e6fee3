"""Style of the Compare page: two sides, which stand above each other where there is no room beside."""

from __future__ import annotations

import streamlit as st

_CSS = """
<style>
@media (max-width: 900px) {
  :is(.st-key-cmp_stages, .st-key-cmp_sides) > [data-testid="stHorizontalBlock"],
  :is(.st-key-cmp_stages, .st-key-cmp_sides) > * > [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  :is(.st-key-cmp_stages, .st-key-cmp_sides) > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"],
  :is(.st-key-cmp_stages, .st-key-cmp_sides) > * > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"] {
    min-width: 100%;
  }
}
</style>
"""


def apply() -> None:
    """Put the rules on the page."""
    st.html(_CSS)
