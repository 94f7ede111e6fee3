"""What ``docs/tuning.md`` says about quanta: all recorded points under both rules, and the page's own tables."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from drr.scheduler.ring import CursorRule
from tests.support import ROOT

ALLOWED_REQUESTS = 3


def load_experiments() -> ModuleType:
    """The script that makes the page's tables; ``docs`` is no package."""
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "docs" / "make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


experiments = load_experiments()
POINTS = experiments.points()


def off_by_more(rule: CursorRule, points: list) -> list[str]:
    """The points at which our replay is more than a few requests off the recorded figure."""
    found = []
    for point in points:
        expected = point.real_router if rule == "carry" else point.documented
        ours = experiments.premium_in_first_320(point, rule)
        if abs(ours - expected) > ALLOWED_REQUESTS:
            found.append(f"{point}: {expected} expected, {ours} here")
    return found


def test_the_recording_holds_99_points_with_quanta_of_four_to_one() -> None:
    assert len(POINTS) == 99
    assert {point.quantum_premium / point.quantum_regular for point in POINTS} == {experiments.ASKED}


@pytest.mark.parametrize("rule", ["carry", "documented"])
def test_every_fifth_recorded_point_is_within_three_requests(rule: CursorRule) -> None:
    # 5 and 11 quanta, 9 settings: a fifth of the points has every quantum and every setting among them.
    sample = POINTS[::5]
    assert len({point.quantum_premium for point in sample}) == 11
    assert len({(point.cost_tokens, point.sequences) for point in sample}) == 9
    assert off_by_more(rule, sample) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["carry", "documented"])
def test_every_recorded_point_is_within_three_requests(rule: CursorRule) -> None:
    assert off_by_more(rule, POINTS) == []


@pytest.mark.slow
def test_the_shipped_rule_is_the_real_router_to_the_request_at_all_points() -> None:
    assert [experiments.premium_in_first_320(point, "carry") for point in POINTS] == [p.real_router for p in POINTS]


@pytest.mark.parametrize(
    ("slots", "quantum_costs", "expected"),
    [(1, 1, 256), (1, 2, 214), (1, 4, 160), (4, 2, 241), (4, 4, 215), (4, 16, 160), (16, 8, 240), (64, 16, 244)],
)
def test_larger_drains_give_part_of_the_ratio_back_on_the_shipped_router(
    slots: int, quantum_costs: int, expected: int
) -> None:
    assert experiments.premium_with_drains(slots, quantum_costs, "carry") == expected
    assert experiments.premium_with_drains(slots, quantum_costs, "documented") == 256


def test_with_mixed_costs_the_ratio_binds_up_to_the_cheap_ones() -> None:
    ratio = experiments.ratio_with_mixed_costs
    for mix in experiments.MIXES:
        assert ratio(mix, 16, "carry") == pytest.approx(4, abs=0.05)
        assert ratio(mix, 4096, "carry") == pytest.approx(1, abs=0.15)
        assert ratio(mix, 4096, "documented") == pytest.approx(4, abs=0.3)
    assert ratio("64 or 960", 512, "carry") < 3


@pytest.mark.slow
def test_the_tables_of_the_page_are_what_the_engine_says() -> None:
    page = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
    found = [(p, *(experiments.premium_in_first_320(p, rule) for rule in ("carry", "documented"))) for p in POINTS]
    for name, table in (
        ("scale", experiments.scale_table(found)),
        ("drains, carry", experiments.drain_table("carry")),
        ("mixed costs", experiments.mixed_table()),
    ):
        assert experiments.put(page, name, table) == page
