"""A real frontend with its mock engine on this machine: started on loopback, waited for, ended by process id.

It runs in a Python environment of its own, since its packages are many; see docs/real-router.md. No etcd, no NATS and
no GPU are needed: discovery is by files, requests go over TCP.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from drr.dynamo.live_model import write_model_folder
from drr.errors import DrrError

LOOPBACK = "127.0.0.1"
READY_SECONDS = 180.0
END_SECONDS = 10.0
MODEL = "m"
FOUR_SEQUENCES = ("--max-num-seqs", "4", "--max-num-batched-tokens", "8192", "--no-enable-prefix-caching")


class LiveRouterError(DrrError):
    """The live frontend did not start; the text has the last words of its logs."""


def live_environment(folder: Path) -> dict[str, str]:
    """The environment both processes want: files for discovery in ``folder``, and nothing that listens but loopback."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYN_")}
    hosts = ("DYN_HTTP_HOST", "DYN_TCP_RPC_HOST", "DYN_TCP_RESPONSE_STREAM_HOST", "DYN_EVENT_PLANE_HOST")
    return (
        environment
        | dict.fromkeys((*hosts, "DYN_SYSTEM_HOST"), LOOPBACK)
        | {
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": str(folder / "kv"),
            "DYN_REQUEST_PLANE": "tcp",
            "DYN_EVENT_PLANE": "zmq",
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
        }
    )


def free_port() -> int:
    """A loopback port nobody listens on at the moment."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])


class LiveRouter:
    """Mock engine and frontend as a context manager; ``url`` is the frontend's."""

    def __init__(
        self, python: Path, folder: Path, policy: Path, *, port: int = 0, mocker_options: Sequence[str] = FOUR_SEQUENCES
    ) -> None:
        """``python`` is the interpreter of the environment that has ``ai-dynamo``; logs and files go to ``folder``."""
        self.port = port or free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self._folder = folder
        model = folder / "model"
        self._commands = {
            "mocker": [
                *(str(python), "-m", "dynamo.mocker", "--model-path", str(model), "--model-name", MODEL),
                *mocker_options,
            ],
            "frontend": [
                *(str(python), "-m", "dynamo.frontend", "--http-host", LOOPBACK, "--http-port", str(self.port)),
                *("--router-mode", "kv", "--load-aware", "--router-policy-config", str(policy.resolve())),
            ],
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def process_ids(self) -> dict[str, int]:
        """The process ids by name."""
        return {name: process.pid for name, process in self._processes.items()}

    def __enter__(self) -> LiveRouter:
        """Start both and wait until the frontend lists the model; raises :class:`LiveRouterError`."""
        write_model_folder(self._folder / "model")
        environment = live_environment(self._folder)
        try:
            for name, command in self._commands.items():
                with self._log(name).open("wb") as log:
                    self._processes[name] = subprocess.Popen(
                        command,
                        cwd=self._folder,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End both."""
        self.close()

    def close(self) -> None:
        """End the processes by their ids, kindly first, and wait until they are gone."""
        for process in reversed(self._processes.values()):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self._processes.values()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
            if process.poll() is None:
                process.kill()
                process.wait()
        self._processes.clear()

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    raise LiveRouterError(f"the {name} ended with code {process.returncode}: {self._last_words(name)}")
            if MODEL in self._models():
                return
            time.sleep(0.25)
        raise LiveRouterError(f"the frontend lists no model after {READY_SECONDS:g} s: {self._last_words('frontend')}")

    def _models(self) -> list[str]:
        try:
            with urllib.request.urlopen(f"{self.url}/v1/models", timeout=2) as answer:
                return [str(model["id"]) for model in json.load(answer)["data"]]
        except (OSError, ValueError, KeyError, urllib.error.URLError):
            return []

    def _last_words(self, name: str) -> str:
        lines = self._log(name).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])[:600] or "it said nothing"
