"""Style of the Learn page, on the screen and on paper."""

from __future__ import annotations

import streamlit as st

_CSS = """
<style>
.learn-paper { display: none; }
.learn-paper span { margin-left: 1.2em; }
[class*="st-key-learn_sheet_"] .learn-paper { display: block; }
[class*="st-key-learn_sheet_"] { max-width: 760px; padding-bottom: 2rem; }
@media print {
  [data-testid="stHeader"], [data-testid="stToolbar"], .st-key-learn_bar, .st-key-learn_ways,
  .st-key-learn_question button, .st-key-learn_question [data-testid="stNumberInput"], .stLinkButton,
  .rp-bar, .rp-choices { display: none !important; }
  .learn-paper { display: block; }
  .st-key-learn_question:not(:has([data-testid="stAlert"])) { display: none; }
  .st-key-sides > * > [data-testid="stHorizontalBlock"] { flex-direction: column; }
  .st-key-sides [data-testid="stColumn"] { width: 100% !important; min-width: 100%; }
  [class*="st-key-learn_sheet_"] { break-after: page; }
  [data-testid="stApp"], [data-testid="stAppViewContainer"], [data-testid="stMain"] {
    position: static !important; overflow: visible !important; height: auto !important;
  }
}
</style>
"""


def apply() -> None:
    """Put the rules on the page."""
    st.html(_CSS)
