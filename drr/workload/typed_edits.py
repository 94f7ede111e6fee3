"""Small edits of typed queues, as the buttons of a lesson make them: one more request, one more change of a worker."""

from __future__ import annotations

import re
from typing import Literal

Change = Literal["hold", "free", "overload", "recover", "join", "leave", "finish"]


def with_arrival(text: str, name: str, tokens: int, *, after: int = 0) -> str:
    """The text with one more request at the end of the line of class ``name``; it arrives after so many dispatches.

    A class without a line gets one. Comments and everything else stay as they are.
    """
    entry = f"{tokens}@{after}" if after else str(tokens)
    lines = text.splitlines()
    head = re.compile(rf"\s*{re.escape(name)}\s*(\([^)]*\)\s*)?:")
    mine = [number for number, line in enumerate(lines) if head.match(line)]
    if not mine:
        return _with_line(text, f"{name}: {entry}")
    written, mark, comment = lines[mine[-1]].partition("#")
    gap = written[len(written.rstrip()) :] if mark else ""
    lines[mine[-1]] = f"{written.rstrip()} {entry}{gap}{mark}{comment}"
    return "\n".join(lines) + "\n"


def with_change(text: str, what: Change, worker: int, *, after: int = 0) -> str:
    """The text with one more line that changes a worker after so many dispatches."""
    return _with_line(text, f"* {what} {worker} @{after}" if after else f"* {what} {worker}")


def _with_line(text: str, line: str) -> str:
    rest = text.rstrip("\n")
    return f"{rest}\n{line}\n" if rest else f"{line}\n"
