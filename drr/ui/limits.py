"""Every limit of the app in one place. Each can be set by an environment variable and is named when it is hit."""

from __future__ import annotations

import os
from dataclasses import dataclass

from drr.errors import DrrError, TooManyRequestsError


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: the variable that sets it, its default, and what it counts."""

    variable: str
    default: int
    what: str

    @property
    def value(self) -> int:
        """The limit in force; raises :class:`DrrError` for a variable that holds no whole number of at least 1."""
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        if not text.isascii() or not text.isdigit() or int(text) < 1:
            raise DrrError(f"{self.variable} is {text!r}; a whole number of at least 1 is allowed ({self.what})")
        return int(text)

    def exceeded(self, found: int) -> str | None:
        """What to tell a person when ``found`` is above the limit, else None."""
        return None if found <= self.value else self.words(found, self.value)

    def words(self, found: int, most: int) -> str:
        """That ``found`` is more than ``most``, and who sets that."""
        return f"{found:,} {self.what} are more than the {most:,} that are allowed here ({self.variable} sets it)"


REQUESTS_PER_RUN = Limit("RINGSIDE_MAX_REQUESTS", 500_000, "requests in one run")
SECONDS_PER_RUN = Limit("RINGSIDE_MAX_RUN_SECONDS", 120, "seconds for one run")
RUNS_PER_SWEEP = Limit("RINGSIDE_MAX_SWEEP_RUNS", 2_000, "experiments in one sweep on the page")
UPLOAD_BYTES = Limit("RINGSIDE_MAX_UPLOAD_BYTES", 64 * 1024 * 1024, "bytes of an uploaded file")
CONCURRENT_RUNS = Limit("RINGSIDE_MAX_CONCURRENT_RUNS", max(1, min(4, os.cpu_count() or 1)), "runs at the same time")
KEPT_RUNS = Limit("RINGSIDE_MAX_KEPT_RUNS", 24, "runs kept in memory")
LINK_CHARACTERS = Limit("RINGSIDE_MAX_LINK_CHARACTERS", 7_000, "characters of a share link")
SHARED_TRACE_BYTES = Limit("RINGSIDE_MAX_SHARED_TRACE_BYTES", 2 * 1024 * 1024, "bytes of a trace in a shared file")
REAL_REQUESTS = Limit("RINGSIDE_MAX_REAL_REQUESTS", 100_000, "requests compared with the real router")
CONCURRENT_PROBES = Limit("RINGSIDE_MAX_PROBES", 1, "probes of live endpoints at the same time")


def error_words(error: DrrError) -> str:
    """The text of an error, as the app says it: a workload that is too large is refused by the name of its limit."""
    if isinstance(error, TooManyRequestsError):
        said = REQUESTS_PER_RUN.words(error.count, error.most)
        return f"{said}: take fewer, or run it with python -m drr run"
    return str(error)
