"""The picture of the architecture is that of the sources."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.support import ROOT
from tests.test_layers import ROOMS


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("architecture_picture", ROOT / "docs/architecture_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_drawn_from_the_imports_as_they_are(drawing: ModuleType) -> None:
    kept = drawing.PICTURE.read_text(encoding="utf-8")
    assert kept == drawing.svg(), "the imports have changed: python docs/architecture_picture.py"
    assert all(f">{room}</text>" in kept for room in ROOMS)


def test_arrows_that_follow_from_others_are_left_out(drawing: ModuleType) -> None:
    found = {"a": {"b", "c"}, "b": {"c"}, "c": set()} | {room: set() for room in ROOMS}
    drawn = drawing.arrows({**found, "pages": {"ui", "charts"}, "ui": {"charts"}})
    assert drawn == [("pages", "ui"), ("ui", "charts")]
    real = drawing.imports()
    assert "charts" in real["ui"]
    assert all(ROOMS.index(other) < ROOMS.index(room) for room in ROOMS for other in real[room])
