"""One process with the real router inside, asked one question at a time under a time limit.

A crash or a hang costs the question it happened on: the process is replaced and the next question is asked afresh.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from drr.errors import DrrError

WHEEL = "ai-dynamo-runtime"
CHECKED_VERSION = "1.6.1"
START_LIMIT_S = 120.0
POLL_S = 0.2
LIMIT_GRACE_S = 10.0
"""How long after its time limit a process ends itself, should nobody be left to end it."""
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class RouterUnavailableError(DrrError):
    """The real router cannot run here: the wheel is missing or doesn't fit this platform."""


class RouterFailureError(DrrError):
    """The real router's process crashed or went over its time limit on one question."""


def router_version() -> str | None:
    """The installed version of the real router's wheel, ``None`` when there is none."""
    try:
        return importlib.metadata.version(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None


def router_unavailable_because() -> str | None:
    """Why the real router cannot run here, in words for a user; ``None`` when nothing speaks against it."""
    install = f"install it with: pip install {WHEEL}=={CHECKED_VERSION}"
    if not sys.platform.startswith("linux"):
        return f"the real router's wheel exists for Linux only, this is {sys.platform}; everything else works without"
    try:
        found = importlib.util.find_spec("dynamo._core") is not None
    except (ImportError, ValueError):
        found = False
    return None if found else f"the real router is not installed; {install} (Linux, x86_64 or aarch64, about 275 MB)"


class RouterProcess:
    """A child process that answers questions to the real router; usable as a context manager.

    It starts on the first question and is started again after a crash or a hang.
    """

    def __init__(self, *, time_limit_s: float = 60.0, while_waiting: Callable[[], object] | None = None) -> None:
        """``time_limit_s`` bounds each question, not counting the start of the process.

        ``while_waiting`` is called several times a second and may raise, which ends the process and the question.
        """
        self.time_limit_s = time_limit_s
        self._while_waiting = while_waiting
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    def __enter__(self) -> RouterProcess:
        """Nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the process."""
        self.close()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The child's answer to one question.

        Raises :class:`RouterUnavailableError` when there is no router to ask, :class:`RouterFailureError` when it
        crashed or took longer than the limit; the next call starts a new process.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        question = question | {"time_limit_s": self.time_limit_s + LIMIT_GRACE_S}
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            raise self._failure("ended before the question reached it") from None
        return self._read(self.time_limit_s)

    def close(self) -> None:
        """End the process, whatever it is doing; the next question would start a new one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def _start(self) -> subprocess.Popen[bytes]:
        reason = router_unavailable_because()
        if reason is not None:
            raise RouterUnavailableError(reason)
        # A router setting of the user's shell must not change what is compared.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DYN_")}
        path = [str(_PACKAGE_ROOT), *filter(None, [environment.get("PYTHONPATH")])]
        environment |= {"DYN_LOG": "error", "PYTHONPATH": os.pathsep.join(path)}
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "drr.dynamo._replay_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
        )
        hello = self._read(START_LIMIT_S)
        if "unavailable_because" in hello:
            self.close()
            raise RouterUnavailableError(f"the real router cannot be loaded: {hello['unavailable_because']}")
        return self._process

    def _read(self, limit_s: float) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        deadline = time.monotonic() + limit_s
        chunks: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not (chunks and chunks[-1].endswith(b"\n")):
                left_s = deadline - time.monotonic()
                if not selector.select(max(0.0, min(left_s, POLL_S))):
                    if left_s <= 0:
                        raise self._failure(f"gave no answer within {limit_s:g} s")
                    self._wait_on()
                    continue
                chunk = os.read(process.stdout.fileno(), 1 << 20)
                if not chunk:
                    raise self._failure("ended")
                chunks.append(chunk)
        answer: dict[str, Any] = json.loads(b"".join(chunks))
        return answer

    def _wait_on(self) -> None:
        if self._while_waiting is None:
            return
        try:
            self._while_waiting()
        except BaseException:
            self.close()
            raise

    def _failure(self, what: str) -> RouterFailureError:
        """End the process and tell what is known about its end."""
        process, stderr = self._process, self._stderr
        status = last_words = ""
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=0 if what.startswith("gave") else 5)
                status = f" (signal {-code})" if code < 0 else f" (exit code {code})"
        if stderr is not None:
            stderr.seek(0)
            lines = stderr.read().decode(errors="replace").strip().splitlines()
            last_words = f": {lines[-1][:300]}" if lines else ""
        self.close()
        return RouterFailureError(f"the real router's process {what}{status}{last_words}")
