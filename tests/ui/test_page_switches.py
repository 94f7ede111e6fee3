"""What a user set on the Lab is there again when he comes back to it."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import ROOT


@pytest.fixture
def app() -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.session_state["lab:tab"] = "Workers"
    return at.run()


def workers(at: AppTest) -> Any:
    return next(each for each in at.number_input if each.label == "Workers")


def back_and_forth(at: AppTest) -> None:
    at.switch_page("pages/learn.py").run()
    at.switch_page("pages/lab.py")
    at.session_state["lab:tab"] = "Workers"
    at.run()
    assert not at.exception


def test_a_number_survives_other_pages_again_and_again(app: AppTest) -> None:
    for number in (3, 5):
        workers(app).set_value(number).run()
        back_and_forth(app)
        assert (workers(app).value, app.session_state["lab:workers"]) == (number, number)
