"""The one tree of errors that Ringside raises.

Refusals and selection errors of single requests are data (see ``drr.router``), not exceptions: an exception means
that the caller asked for something that cannot be done at all.
"""

from __future__ import annotations


class DrrError(Exception):
    """Base of every error this package raises on purpose; its text is fit to be shown to a user as it is."""


class PolicyError(DrrError):
    """A policy text was refused. ``diagnostics`` holds every problem found, errors and warnings, in file order."""

    def __init__(self, message: str, diagnostics: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class UnknownModelError(DrrError, KeyError):
    """A model was asked for that the policy does not name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class WorkloadError(DrrError, ValueError):
    """A trace, a typed workload or a workload spec cannot be read; the text says where, what and what is allowed."""


class TooManyRequestsError(WorkloadError):
    """A workload is larger than whoever runs it allows; ``count`` is how many requests it has."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(count, most)
        self.count = count
        self.most = most

    def __str__(self) -> str:
        return f"the workload has {self.count:,} requests, at most {self.most:,} are run here"


class EngineOptionError(DrrError, ValueError):
    """An option of the worker model is unknown or out of range."""


class ReplayAbortedError(DrrError):
    """A run ended the way the real replay aborts; the text is the reason the real router gives."""
