"""What reading a policy has to say about one place in the text."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]

_PLAIN_STEP = re.compile(r"[A-Za-z0-9_/-][A-Za-z0-9_./:-]*")
_LONGEST_QUOTE = 60


class Position(NamedTuple):
    """A stretch of the user's text, 1-based like an editor counts; the end is the column after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: where (1-based line and column, and the path of the value), what is wrong, what is allowed.

    ``suggestion`` is the text to put there instead, where one is likely. ``router_refuses`` marks what is loaded here
    although the router of release 1.6.1 would refuse the file.
    """

    severity: Severity
    line: int
    column: int
    path: str
    message: str
    allowed: str = ""
    suggestion: str | None = None
    router_refuses: bool = False

    def text(self, source: str = "") -> str:
        """The finding as one line for people; ``source`` is the file name to put before line and column."""
        where = f"{source}:{self.line}:{self.column}" if source else f"line {self.line}, column {self.column}"
        parts = [f"{where}: {self.severity}: "]
        if self.path:
            parts.append(f"{self.path}: ")
        parts.append(self.message)
        if self.allowed:
            parts.append(f"; allowed: {self.allowed}")
        if self.suggestion is not None:
            parts.append(f"; did you mean `{self.suggestion}`?")
        return "".join(parts)

    def as_dict(self) -> dict[str, str | int | bool | None]:
        """The fields by name, ready for JSON."""
        return asdict(self)


def quoted(text: str) -> str:
    """``text`` in double quotes with control characters escaped, shortened where it is long."""
    shown = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return json.dumps(shown, ensure_ascii=False)


def joined(path: str, key: str) -> str:
    """``path`` with one more key, as in ``models.my-model.policy_classes``; unusual keys are put in brackets."""
    if not _PLAIN_STEP.fullmatch(key) or len(key) > _LONGEST_QUOTE:
        return f"{path}[{quoted(key)}]"
    return f"{path}.{key}" if path else key
