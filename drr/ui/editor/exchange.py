"""Python's side of the conversation with the editor in the browser.

Both sides change one text over a line with delay. Every text the browser sends is numbered (``seq``), and so is every
replacement made here (``rev``); the browser says which replacement its text includes. A text that does not include the
newest one is put aside: the browser merges the two and sends the result, so neither typing nor a replacement is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

LARGEST_NUMBER = 2**53 - 1
"""JavaScript counts no further."""


@dataclass(slots=True)
class Exchange:
    """The newest text, and the numbers that say what it includes."""

    text: str
    rev: int = 0
    seq: int = 0
    shown: str = ""
    """The text at the end of the last rendering: whoever passes it again has not changed anything."""
    run_is_due: bool = False

    def put(self, text: str) -> None:
        """Replace the text, unless it is the same."""
        if text != self.text:
            self.text = text
            self.rev += 1

    def show(self, text: str) -> None:
        """Make ``text`` the editor's, unless it is just what the caller was given before the latest typing."""
        if text != self.shown:
            self.put(text)
        self.shown = self.text

    def take(self, edit: Any) -> bool:
        """Take what the browser sent last: ``text``, ``seq``, ``rev`` and ``run``, the last ``seq`` that asked for a
        run. Returns whether the text is another one now. What makes no sense is left alone.
        """
        if not _is_edit(edit) or edit["seq"] <= self.seq or edit["rev"] < self.rev:
            return False
        changed = edit["text"] != self.text
        self.run_is_due = self.run_is_due or edit["run"] > self.seq
        self.text, self.seq, self.rev = edit["text"], edit["seq"], edit["rev"]
        return bool(changed)

    def take_run(self) -> bool:
        """Whether a run was asked for since this was last called."""
        due, self.run_is_due = self.run_is_due, False
        return due


def _is_edit(edit: object) -> TypeGuard[dict[str, Any]]:
    """Whether a message has the form of an edit: it comes from outside."""
    if not isinstance(edit, dict) or not isinstance(edit.get("text"), str):
        return False
    numbers = [edit.get(name) for name in ("seq", "rev", "run")]
    if not all(isinstance(number, int) and 0 <= number <= LARGEST_NUMBER for number in numbers):
        return False
    try:
        edit["text"].encode()  # half a surrogate pair is no text that could be kept or hashed
    except UnicodeEncodeError:
        return False
    return True
