"""What a user set on a page is there again when he comes back to it, whatever he did elsewhere in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from drr.ui import compare_state
from drr.workload.scenarios import SCENARIOS
from tests.support import ROOT
from tests.ui.conftest import places

PAGES = ("lab", "learn", "tune", "compare", "premium_demo", "traces", "real_router")


@pytest.fixture
def app() -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.session_state["lab:tab"] = "Workers"
    return at.run()


def go(at: AppTest, page: str) -> AppTest:
    at.switch_page(f"pages/{page}.py")
    if page == "lab":
        at.session_state["lab:tab"] = "Workers"
    at.run()
    assert not at.exception, at.exception[0].value
    return at


def labelled(elements: Any, label: str) -> Any:
    return next(each for each in elements if each.label == label)


def workers(at: AppTest) -> Any:
    return labelled(at.number_input, "Workers")


def test_every_page_opens_again_after_every_other_one(app: AppTest) -> None:
    for page in PAGES:
        for other in PAGES:
            go(app, page)
            go(app, other)


def test_a_number_survives_other_pages_again_and_again(app: AppTest) -> None:
    for number in (3, 5):
        workers(app).set_value(number).run()
        go(app, "learn")
        go(app, "lab")
        assert (workers(app).value, app.session_state["lab:workers"]) == (number, number)


def test_what_the_lab_holds_is_known_in_every_run_of_another_page(app: AppTest) -> None:
    workers(app).set_value(5).run()
    go(app, "compare")
    workers(app).set_value(2).run()
    labelled(app.selectbox, "Comparison").select(compare_state.FROM_LAB).run()
    assert app.session_state["cmp:base"].workers == 5
    go(app, "lab")
    assert workers(app).value == 5


def set_learn(at: AppTest) -> AppTest:
    at.session_state["learn:lesson"] = 4
    return labelled(at.toggle, "Teacher mode").set_value(True).run()


def set_tune(at: AppTest) -> AppTest:
    at.segmented_control(key="tune:view").set_value("Goals").run()
    at.selectbox(key="tune:goal_seeds").select(5).run()
    return at.text_area(key="tune:goal_lines").set_value("premium share = 60 %").run()


def set_compare(at: AppTest) -> AppTest:
    labelled(at.selectbox, "Comparison").select("share").run()
    return at.number_input(key="cmp:workers:B").set_value(3).run()


def set_premium(at: AppTest) -> AppTest:
    labelled(at.button, "Run the seed experiment").click().run()
    return at.select_slider[0].set_value(1024).run()


def set_traces(at: AppTest) -> AppTest:
    labelled(at.button, "Nothing at hand? Take a made-up trace").click().run()
    return at.number_input(key="traces:rate").set_value(2.0).run()


def set_real(at: AppTest) -> AppTest:
    at.session_state["real:shown_tab"] = "Probe a live endpoint"
    go(go(at.run(), "lab"), "real_router")
    return at.text_input(key="probe:model").set_value("mine").run()


@pytest.mark.parametrize(
    ("page", "set_something", "held"),
    [
        ("learn", set_learn, {"learn:lesson": 4, "learn:teacher": True}),
        ("tune", set_tune, {"tune:view": "Goals", "tune:goal_seeds": 5, "tune:goal_lines": "premium share = 60 %"}),
        ("compare", set_compare, {"cmp:preset": "share", "cmp:workers:A": 1, "cmp:workers:B": 3}),
        ("premium_demo", set_premium, {"premium:quantum": 1024}),
        ("traces", set_traces, {"traces:rate": 2.0}),
        ("real_router", set_real, {"probe:model": "mine"}),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_page_is_as_it_was_left(
    app: AppTest, page: str, set_something: Callable[[AppTest], AppTest], held: dict[str, object]
) -> None:
    set_something(go(app, page))
    for _ in range(2):
        go(app, "lab")
        workers(app).set_value(2).run()
        go(app, page)
        assert {name: app.session_state[name] for name in held} == held
        app.run()
        assert {name: app.session_state[name] for name in held} == held


def test_the_editor_stays_where_it_is_whatever_is_said_above_it() -> None:
    """Lines of the scenario, of findings and of a run come and go while somebody types; see ``conftest.py``."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    seed: str = at.session_state["lab:policy"]
    for text in (
        seed.replace("512", "640"),
        seed.replace("quantum: 512", "quantum 512"),
        "",
        seed + "unknown: 1\n",
        seed,
    ):
        at.session_state["lab:policy"] = text
        at.run()
    for scenario in (None, SCENARIOS[0].name, SCENARIOS[1].name):
        at.selectbox(key="lab:scenario").set_value(scenario).run()


def test_both_stages_stay_where_they_are_whatever_links_them(app: AppTest) -> None:
    go(app, "compare")
    for how in ("by time", "by decision"):
        app.session_state["cmp:how"] = how
        app.run()
        players = [identity for identity, _ in places(app._tree) if "-cmp:" in identity or "player" in identity]
        assert len(players) >= 2, "there are two stages to watch"
