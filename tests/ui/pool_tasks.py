"""Tasks for the tests of the run pool; a worker process imports them from here."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from drr.errors import WorkloadError
from drr.ui.worker_process import Progress


@dataclass(frozen=True)
class Answer:
    """Gives a value back."""

    value: int

    def run(self, progress: Progress) -> int:
        progress(self.value, self.value)
        return self.value


@dataclass(frozen=True)
class UntilReleased:
    """Reports progress until a file is there; ends early where its result is not wanted any more."""

    gate: Path

    def run(self, progress: Progress) -> str:
        for turn in range(10_000):
            progress(turn, 10_000)
            if self.gate.exists():
                return "released"
            time.sleep(0.005)
        return "gave up"


@dataclass(frozen=True)
class PartByPart:
    """Hands parts over, and then goes on until a file is there."""

    count: int
    gate: Path

    def run(self, progress: Progress) -> None:
        for number in range(self.count):
            progress(number + 1, self.count, number)
        while not self.gate.exists():
            progress(self.count, self.count)
            time.sleep(0.005)


@dataclass(frozen=True)
class Deaf:
    """Reports once and then neither reports nor ends."""

    def run(self, progress: Progress) -> None:
        progress(1, 2)
        time.sleep(60)


@dataclass(frozen=True)
class Dies:
    """Its process ends in the middle of the run, but for the second try."""

    mark: Path

    def run(self, progress: Progress) -> str:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), 9)
        return "second try"


@dataclass(frozen=True)
class Fails:
    """Raises what the input, or the program, is to blame for."""

    by_input: bool

    def run(self, progress: Progress) -> None:
        print("a stray print")
        if self.by_input:
            raise WorkloadError("row 3 has no length")
        raise ZeroDivisionError("no workers")
