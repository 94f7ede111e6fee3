"""What is wrong with a text of the workload: where, what is allowed, and the line with a mark below the place."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from drr.policy import Diagnostic
from drr.ui.look import with_code

SHOWN = 4
_LONGEST = 60


def show(text: str, diagnostics: Sequence[Diagnostic]) -> None:
    """Draw the findings, errors first."""
    found = sorted(diagnostics, key=lambda each: (each.severity != "error", each.line, each.column))
    for each in found[:SHOWN]:
        word, box = ("✕ error", st.error) if each.severity == "error" else ("△ warning", st.warning)
        parts = [f"**{word}**, line {each.line}, column {each.column}: {with_code(each.message)}."]
        if each.allowed:
            parts.append(f"Allowed: {with_code(each.allowed)}.")
        if each.suggestion is not None:
            parts.append(f"Did you mean `{each.suggestion}`?")
        box(" ".join(parts) + "\n\n" + _excerpt(text, each.line, each.column))
    if len(found) > SHOWN:
        st.caption(f"and {len(found) - SHOWN:,} more")


def _excerpt(text: str, line: int, column: int) -> str:
    """The line as a code block, a caret below the column; long lines are cut around it."""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    start = max(0, column - 1 - _LONGEST // 2)
    shown = lines[line - 1][start : start + _LONGEST].replace("\t", " ").replace("`", "'")
    caret = " " * (column - 1 - start) + "^"
    return f"```text\n{shown}\n{caret}\n```"
