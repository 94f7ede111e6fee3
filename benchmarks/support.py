"""What the benchmarks share: figures with bars, sides measured in processes of their own, and the page of results.

Figures are printed last, as ``name: value`` lines. With ``--write`` a benchmark also puts them, with its command, the
kind of machine and the date, into its section of ``docs/benchmarks.md``.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; ``bar`` is the most it may be, None where there is no bar."""

    name: str
    value: float
    unit: str = ""
    bar: float | None = None

    @property
    def is_missed(self) -> bool:
        return self.bar is not None and self.value > self.bar

    def text(self) -> str:
        """The value for people: whole numbers with separators, others with three figures."""
        value = self.value
        number = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"
        return f"{number} {self.unit}".rstrip()


@dataclass(slots=True)
class Figures:
    """The figures of one benchmark, in the order in which they were found."""

    found: list[Figure] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str = "", *, bar: float | None = None) -> None:
        self.found.append(Figure(name, value, unit, bar))

    def finish(self, script: str, *, write: bool) -> int:
        """Print the figures (and write them to the page); exit code 1 where a bar is missed."""
        for figure in self.found:
            bar = "" if figure.bar is None else f" (bar: {figure.bar:g}{', missed' if figure.is_missed else ''})"
            print(f"{figure.name}: {figure.text()}{bar}")
        if write:
            write_section(script, self.found)
        return 1 if any(figure.is_missed for figure in self.found) else 0


def write_section(script: str, figures: Sequence[Figure]) -> None:
    """Replace a benchmark's table on the page of results; what people wrote around it stays."""
    lines = [f"{machine()}; {datetime.date.today():%d %B %Y}.", "", "| figure | value | bar |", "|---|---|---|"]
    for figure in figures:
        bar = "" if figure.bar is None else f"{figure.bar:g}" + (" (missed)" if figure.is_missed else "")
        lines.append(f"| {figure.name} | {figure.text()} | {bar} |")
    start, end = f"<!-- {script}: begin -->", f"<!-- {script}: end -->"
    page = PAGE.read_text(encoding="utf-8")
    place = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not place.search(page):
        raise SystemExit(f"{PAGE.relative_to(ROOT)} has no place for {script}: {start} ... {end} is missing")
    PAGE.write_text(place.sub(lambda _: "\n".join([start, *lines, end]), page), encoding="utf-8")


def machine() -> str:
    """The kind of machine, without its name."""
    processor = platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    if found:
        processor = found.group(1).strip()
    cores = f"{os.cpu_count() or 1} cores"
    return f"{platform.system()}, {processor}, {cores}, Python {platform.python_version()}"


def in_own_process(script: str | Path, *arguments: str) -> dict[str, Any]:
    """Run ``script`` in a fresh interpreter; what it prints last is one line of JSON."""
    command = [sys.executable, str(script), *arguments]
    # A router setting of the user's shell must not change what is measured.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYN_")}
    environment["DYN_LOG"] = "error"
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with exit code {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


class Clock:
    """Time and processor time of this process since it was made. Other work on the machine shows in the first only."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._cpu_started = time.process_time()

    def elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    def cpu_s(self) -> float:
        return time.process_time() - self._cpu_started


def medians(samples: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of every key over repetitions."""
    return {key: median(sample[key] for sample in samples) for key in samples[0]}


def resident_bytes() -> int:
    """Memory of this process that is in use now; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
