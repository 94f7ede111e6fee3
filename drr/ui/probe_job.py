"""Probes for the page: each in a process of its own, its rows collected here as they come."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import streamlit as st

from drr.analysis.words import counted
from drr.dynamo.probe import ProbeRow
from drr.dynamo.probe_plan import ProbeError, ProbePlan
from drr.ui.limits import CONCURRENT_PROBES

STOP_GRACE_SECONDS = 3.0
"""How long a stopped probe may take to hand out its rows before its process is ended."""
_COMMAND = (sys.executable, "-m", "drr.dynamo._probe_child")
_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[2])


@dataclass(slots=True)
class ProbeJob:
    """One probe on its way or over. Its fields are written by a thread of its own and may be read by anybody."""

    plan: ProbePlan
    rows: list[ProbeRow] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    error: str = ""
    is_stopped: bool = False
    started_s: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)
    process: subprocess.Popen[str] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        return self.finished.is_set()

    def start(self) -> None:
        """Start the process; the plan goes there by its standard input, a key by its environment alone."""
        path = os.pathsep.join([_PACKAGE_FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": path},
        )
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def stop(self) -> None:
        """Ask it to end; what has not been answered by now stays unanswered."""
        process = self.process
        if process is None or self.is_over:
            return
        self.is_stopped = True
        with contextlib.suppress(OSError):
            _pipe(process.stdin).close()
        threading.Timer(STOP_GRACE_SECONDS, process.kill).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        is_told = False
        try:
            _pipe(process.stdin).write(json.dumps(self.plan.to_mapping()) + "\n")
            _pipe(process.stdin).flush()
            for line in _pipe(process.stdout):
                is_told = self._take(json.loads(line)) or is_told
        except (OSError, ValueError):
            is_told = False
        finally:
            with contextlib.suppress(OSError):
                _pipe(process.stdin).close()
            process.wait()
            _pipe(process.stdout).close()
            if not is_told and not self.error:
                self.error = f"the probe's process ended with code {process.returncode}"
            self.finished.set()

    def _take(self, message: dict[str, object]) -> bool:
        """Take a message; True for the last one."""
        match message:
            case {"row": dict(row)}:
                self.rows.append(ProbeRow(**row))
            case {"remark": str(text)}:
                self.remarks.append(text)
            case {"over": outcome}:
                self.error = str(outcome or "")
                return True
        return False


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


class ProbeBoard:
    """All probes of this server, so that they stay few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[ProbeJob] = []

    def start(self, plan: ProbePlan) -> ProbeJob:
        """Start a probe; raises :class:`ProbeError` where as many as are allowed are on their way."""
        with self._lock:
            self._running = [job for job in self._running if not job.is_over]
            if len(self._running) >= CONCURRENT_PROBES.value:
                raise ProbeError(
                    f"this server may have {counted(CONCURRENT_PROBES.value, 'probe')} on the way at a time, no more "
                    f"({CONCURRENT_PROBES.variable} sets it)"
                )
            job = ProbeJob(plan)
            try:
                job.start()
            except OSError as error:
                raise ProbeError(f"no process for the probe could be started: {error.strerror or error}") from None
            self._running.append(job)
        return job


@st.cache_resource(show_spinner=False)
def probe_board() -> ProbeBoard:
    """The board of this server."""
    return ProbeBoard()
