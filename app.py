"""Ringside's front door: ``streamlit run app.py``. It lists the pages, and that is all it does."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from drr.ui import catch_up, front_door, style

PAGES_FOLDER = Path(__file__).resolve().parent / "pages"

# File and title, in the order of the menu; the first one opens. No icons: Streamlit makes a page's icon the favicon,
# and has the browser fetch that from another machine.
PAGES = (
    ("lab.py", "Lab"),
    ("learn.py", "Learn"),
    ("tune.py", "Tune"),
    ("compare.py", "Compare"),
    ("premium_demo.py", "Premium demo"),
    ("traces.py", "Traces"),
    ("real_router.py", "Real router"),
)


def main() -> None:
    st.set_page_config(page_title="Ringside", layout="wide")
    style.apply()
    pages = [st.Page(PAGES_FOLDER / file, title=title, default=i == 0) for i, (file, title) in enumerate(PAGES)]
    current = st.navigation(pages, position="top")
    front_door.send_on(pages)
    if current.title != "Lab":
        catch_up.forget()
    current.run()


main()
