from __future__ import annotations

import re

import pytest

from drr.workload.distributions import Distribution
from drr.workload.generate import generate
from drr.workload.scenarios import SCENARIOS
from drr.workload.spec_fields import ARRIVALS, CACHE_HITS, DISTRIBUTIONS, STREAM_FIELDS
from drr.workload.spec_reading import load_spec, read_spec
from drr.workload.typed import read_typed
from tests.support import ROOT

PAGE = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_the_specs_of_the_page_give_requests_without_a_warning(text: str) -> None:
    assert read_spec(text).diagnostics == ()
    assert len(generate(load_spec(text))) > 100


@pytest.mark.parametrize("text", blocks("text"))
def test_the_typed_queues_of_the_page_are_read(text: str) -> None:
    assert read_typed(text).diagnostics == ()


def test_the_page_has_every_shape_and_every_key() -> None:
    for name in (*ARRIVALS, *DISTRIBUTIONS, *CACHE_HITS):
        assert f"| `{name}` |" in PAGE
    for key in STREAM_FIELDS:
        assert re.search(rf"\b{key}:", blocks("yaml")[0]) or f"    {key}:" in blocks("yaml")[1]
    assert len(DISTRIBUTIONS) == len(Distribution.__args__)


def test_the_page_lists_the_scenarios_in_order() -> None:
    table = PAGE.split("## Scenarios")[1]
    assert re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE) == [(s.name, s.title) for s in SCENARIOS]
