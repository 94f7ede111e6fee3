"""What every test here watches: from one run of a page to the next, a widget keeps its place on it.

The browser draws what has arrived of a run, so a widget that moves down because something came above it is gone for a
moment and then made anew, without focus, without the keys pressed meanwhile. What comes and goes therefore stands in
a ``st.container()``, which keeps its place also when it is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

MAY_MOVE = re.compile(r"learn:(back|skip|lab)$|tune:seeds$|traces:(read|remove):")
"""Buttons of a row that depends on the lesson, what two views of a page share, and the files of a list."""

Place = tuple[int, ...]


def places(node: Any, path: Place = ()) -> Iterator[tuple[str, Place]]:
    """Every element with an id, and its place in the tree of the page."""
    for index, child in node.children.items():
        here = (*path, index)
        identity: str = getattr(getattr(child, "proto", None), "id", "")
        if identity:
            yield identity, here
        if hasattr(child, "children"):
            yield from places(child, here)


@pytest.fixture(autouse=True)
def nothing_moves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a widget of a page moves."""
    run = AppTest._run
    moved: list[str] = []

    def watched(self: AppTest, *args: Any, **options: Any) -> AppTest:
        page, before = self._page_hash, dict(places(self._tree))
        after = run(self, *args, **options)
        if self._page_hash == page:
            now = dict(places(self._tree))
            moved.extend(
                f"{identity}: {place} -> {now[identity]}"
                for identity, place in before.items()
                if now.get(identity, place) != place and not MAY_MOVE.search(identity)
            )
        return after

    monkeypatch.setattr(AppTest, "_run", watched)
    yield
    assert not moved, "these would be made anew by the browser; put what comes and goes into a container"
