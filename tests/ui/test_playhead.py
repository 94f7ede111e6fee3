"""Where Python takes the playhead to be, also while the browser has not yet said it."""

from __future__ import annotations

from typing import Any

import pytest

from drr.ui.player import component
from drr.ui.player.component import current_view, go_to
from drr.ui.player.pack import pack_id
from tests.ui.player_runs import premium_run, random_run


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The state of one session, with nothing in it."""
    values: dict[str, Any] = {}
    monkeypatch.setattr(component.st, "session_state", values)
    return values


def report(state: dict[str, Any], run: Any, step: int, heeded: int = 0) -> None:
    """What the browser says once it stands at a step."""
    view = {"run": pack_id(run), "step": step, "visit": -1, "log": [], "timeline": None, "csv": None, "heeded": heeded}
    state["p"] = {"view": view}


def test_a_player_that_never_stood_anywhere_begins_at_the_start(state: dict[str, Any]) -> None:
    assert current_view(premium_run(), "p", 7).step == 7


def test_what_the_browser_says_counts(state: dict[str, Any]) -> None:
    run = premium_run()
    report(state, run, 12)
    assert current_view(run, "p", 7).step == 12


def test_a_new_run_is_shown_at_the_simulated_time_the_old_one_was_left_at(state: dict[str, Any]) -> None:
    before, after = random_run(3), random_run(4)
    step = before.n_steps // 2
    report(state, before, step)
    current_view(before, "p")
    shown = current_view(after, "p", 0).step
    assert shown == after.step_at_time(before.times_ms[step]) or after.times_ms[step] == before.times_ms[step]
    report(state, before, -1)
    current_view(before, "p")
    assert current_view(after, "p", 5).step == -1


def test_a_playhead_on_its_way_is_taken_to_be_there(state: dict[str, Any]) -> None:
    before, after = random_run(3), random_run(4)
    report(state, before, 1)
    go_to("p", time_ms=after.times_ms[6])
    expected = after.step_at_time(after.times_ms[6])
    assert current_view(after, "p", 0).step == expected
    go_to("p", step=10**9)
    assert current_view(before, "p", 0).step == before.n_steps - 1
    report(state, before, 4, heeded=state["p:go"]["number"])
    assert current_view(before, "p", 0).step == 4


def test_a_request_that_was_followed_is_not_followed_again_on_another_page(state: dict[str, Any]) -> None:
    run = premium_run()
    go_to("p", step=3)
    report(state, run, 9, heeded=state["p:go"]["number"])
    assert current_view(run, "p", 0).step == 9
    state["p"] = None  # Streamlit forgets what a component said once its page is left
    assert current_view(run, "p", 0).step == 9


def test_a_request_about_another_run_waits_for_it(state: dict[str, Any]) -> None:
    shown, awaited = random_run(3), random_run(4)
    report(state, shown, 2)
    go_to("p", step=5, run=awaited)
    assert current_view(shown, "p").step == 2
    assert current_view(awaited, "p").step == 5
