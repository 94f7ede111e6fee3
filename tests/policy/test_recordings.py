"""130 policy files with the real loader's verdict: what is refused there is refused here, in the same place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from drr.policy import read_policy
from tests.support import ROOT

CASES: list[dict[str, Any]] = json.loads((ROOT / "tests/recordings/policy_files.json").read_text(encoding="utf-8"))
# The router stops at the first problem it meets while parsing. We parse the whole text first, so a later syntax error
# comes before that problem.
PLACE = re.compile(r"policy\.yaml: (?P<path>[\w.\[\]/-]+): .* at line (?P<line>\d+) column (?P<column>\d+)$")
SYNTAX_ERROR_FIRST = {"dash without space"}
LOADED_WITH_A_WARNING = {"BOM"}


def by_name(case: dict[str, Any]) -> str:
    return str(case["name"])


def content(case: dict[str, Any]) -> bytes:
    return str(case["latin1"]).encode("latin-1")


def test_all_130_recorded_files_are_here() -> None:
    assert len({case["name"] for case in CASES}) == 130
    assert sum(case["rejected_because"] is None for case in CASES) == 47


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_the_verdict_is_that_of_the_real_loader(case: dict[str, Any]) -> None:
    reading = read_policy(content(case))
    assert reading.router_accepts == (case["rejected_because"] is None)
    assert reading.ok == (reading.router_accepts or case["name"] in LOADED_WITH_A_WARNING)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_an_error_stands_where_the_real_loader_puts_it(case: dict[str, Any]) -> None:
    match = PLACE.search(case["rejected_because"] or "")
    if match is None or case["name"] in SYNTAX_ERROR_FIRST:
        return
    errors = read_policy(content(case)).errors
    places = {(error.line, error.column) for error in errors}
    paths = {error.path for error in errors}
    assert (int(match["line"]), int(match["column"])) in places
    assert any(path.startswith(match["path"]) for path in paths)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_every_error_says_where_what_and_what_is_allowed(case: dict[str, Any]) -> None:
    lines = content(case).decode("latin-1").count("\n") + 1
    for each in read_policy(content(case)).diagnostics:
        assert 1 <= each.line <= lines
        assert each.column >= 1
        assert each.message
        assert each.severity != "error" or each.allowed
