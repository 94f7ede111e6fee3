"""What the page says about a policy file stands where `python -m drr validate --json` says it does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from drr.cli import main
from tests.support import ROOT

CASES: list[dict[str, Any]] = json.loads((ROOT / "tests/recordings/policy_files.json").read_text(encoding="utf-8"))
PLACE = re.compile(r"line (\d+), column (\d+)")


def page() -> None:
    import json

    import streamlit as st

    from drr.policy import read_policy
    from drr.ui import policy_tab
    from drr.ui.editor.marks import marks

    text = st.session_state["text"]
    reading = read_policy(text)
    policy_tab.show_findings(reading)
    st.text(json.dumps(marks(text, reading.diagnostics)))


def line_and_column(text: str, units: int) -> tuple[int, int]:
    """From an offset in UTF-16 units, as the browser counts."""
    before = text.encode("utf-16-le")[: 2 * units].decode("utf-16-le")
    lines = re.split("\r\n|[\r\n\x85\u2028\u2029]", before)
    return len(lines), len(lines[-1].removeprefix("\ufeff") if len(lines) == 1 else lines[-1]) + 1


@pytest.fixture(scope="module")
def shown() -> AppTest:
    return AppTest.from_function(page, default_timeout=60)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_line_and_column_in_the_page_are_those_of_the_command_line(
    case: dict[str, Any], shown: AppTest, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data = case["latin1"].encode("latin-1")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return  # bytes that are no text never reach the editor: an upload refuses them
    path = tmp_path / "policy.yaml"
    path.write_bytes(data)
    main(["validate", str(path), "--json"])
    told = json.loads(capsys.readouterr().out)["diagnostics"]
    shown.session_state["text"] = text
    shown.run()
    assert not shown.exception
    places = sorted((each["line"], each["column"]) for each in told)
    boxes = [*shown.error, *shown.warning, *shown.info]
    said = sorted((int(m[1]), int(m[2])) for box in boxes if (m := PLACE.search(box.value)))
    assert len(said) == min(len(told), 6)
    assert set(said) <= set(places)
    if len(told) <= 6:
        assert said == places
    marked = json.loads(shown.text[0].value)
    assert sorted(line_and_column(text, each["from"]) for each in marked) == places
