"""Ringside's front door: ``streamlit run app.py``. It lists the pages, and that is all it does."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PAGES_FOLDER = Path(__file__).resolve().parent / "pages"

# File, title, icon, in the order of the menu; the first one opens.
PAGES = (("lab.py", "Lab", ":material/science:"),)


def main() -> None:
    st.set_page_config(page_title="Ringside", layout="wide")
    pages = [
        st.Page(PAGES_FOLDER / file, title=title, icon=icon, default=index == 0)
        for index, (file, title, icon) in enumerate(PAGES)
    ]
    st.navigation(pages, position="top").run()


main()
