"""Text from outside stays text, whatever Markdown would make of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.ui.look import plain, with_code

HOSTILE = st.text("a `*_[]()<>$:\\#|~&!\n", max_size=40)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no `key: value` here", "no `key: value` here"),
        ("`: ` and `a*b*`", "`: ` and `a*b*`"),
        ("*bold* `code` _more_", r"\*bold\* `code` \_more\_"),
        ("one ` alone", r"one \` alone"),
        ("`over\ntwo lines`", "\\`over\ntwo lines\\`"),
        ("``", r"\`\`"),
    ],
)
def test_what_stands_between_backquotes_is_code_and_the_rest_is_text(text: str, shown: str) -> None:
    assert with_code(text) == shown


@given(HOSTILE)
def test_outside_of_code_nothing_is_markdown(text: str) -> None:
    outside = re.sub(r"\\.|`[^`\n]+`", "", with_code(text))
    assert not re.search(r"[\\`*_\[\]<$]", outside)


@given(HOSTILE)
def test_without_backquotes_both_are_the_same(text: str) -> None:
    assert with_code(text.replace("`", "'")) == plain(text.replace("`", "'"))
