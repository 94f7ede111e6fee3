"""The server under test, the browser, and a page that reports everything that goes wrong on it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Playwright, Request, WebSocket

CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages of the app share a process, and with it the scripts it has loaded.
    "--process-per-site",
    # No request leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SERVER_START_SECONDS = 60


def stays_on_this_machine(url: str) -> bool:
    """Whether a request for ``url`` leaves nothing but loopback traffic (``data:`` and ``blob:`` make none)."""
    parts = urlsplit(url)
    return parts.scheme not in {"http", "https", "ws", "wss"} or parts.hostname in LOOPBACK


def find_chromium(playwright: Playwright) -> str | None:
    """The browser to drive: RINGSIDE_CHROMIUM, else an installed Chromium or Chrome, else Playwright's own."""
    named = os.environ.get("RINGSIDE_CHROMIUM")
    if named:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    own = playwright.chromium.executable_path
    return own if own and Path(own).is_file() else None


def free_port() -> int:
    """A loopback port nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class StreamlitServer:
    """``streamlit run script`` on a free loopback port, in a process of its own, logging to ``log_path``.

    Use it as a context manager; ``arguments`` go to the script (after ``--``), ``options`` to Streamlit.
    """

    def __init__(
        self, script: Path, log_path: Path, *, options: Iterable[str] = (), arguments: Iterable[str] = ()
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_path = log_path
        self._folder = script.parent
        self._command = [
            *(sys.executable, "-m", "streamlit", "run", script.name),
            *("--server.address", "127.0.0.1", "--server.port", str(self.port), "--server.headless", "true"),
            *("--browser.gatherUsageStats", "false", *options, "--", *arguments),
        ]

    def __enter__(self) -> StreamlitServer:
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(
                self._command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            self._wait_until_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + SERVER_START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"Streamlit did not start; its log says:\n{self.log_path.read_text()}")

    def stop(self) -> None:
        """End the server's process, and wait until it is gone."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


@dataclass  # no slots: Playwright keeps its wrapper of a bound method as an attribute of the object
class PageWatch:
    """Collects what must not happen on a page: script errors, console errors, requests that leave this machine."""

    # On a page with a path of its own Streamlit's client looks for its server beneath that path first.
    allowed: list[re.Pattern[str]] = field(default_factory=lambda: [re.compile("404.*_stcore/(health|host-config)")])
    complaints: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Let pass every complaint that ``pattern`` is found in."""
        self.allowed.append(re.compile(pattern))

    def attach_to_context(self, context: BrowserContext) -> None:
        """Watch every page of ``context``."""
        context.on("page", self.attach_to_page)

    def verdict(self) -> list[str]:
        """The complaints nobody allowed, in order."""
        return [text for text in self.complaints if not any(pattern.search(text) for pattern in self.allowed)]

    def attach_to_page(self, page: Page) -> None:
        """Watch one page."""
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("console", self._note_console)
        page.on("request", self._note_request)
        page.on("websocket", self._note_websocket)

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"console error: {message.text} ({message.location.get('url', '')})")

    def _note_request(self, request: Request) -> None:
        if not stays_on_this_machine(request.url):
            self.complaints.append(f"request to another machine: {request.url}")

    def _note_websocket(self, websocket: WebSocket) -> None:
        if not stays_on_this_machine(websocket.url):
            self.complaints.append(f"WebSocket to another machine: {websocket.url}")


def change_colours(page: Page, colour_scheme: Literal["light", "dark"]) -> None:
    """Change the colour scheme of an open page. Pictures from Python follow with the next run of the app's script."""
    page.emulate_media(color_scheme=colour_scheme)
    wait_until_settled(page)
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("r")
    wait_until_settled(page)
    themes = page.evaluate("[...document.querySelectorAll('.rp')].map((player) => player.dataset.theme)")
    assert set(themes) <= {colour_scheme}, themes


def wait_until_settled(page: Page, *, timeout_ms: float = 60_000, quiet_ms: float = 250) -> None:
    """Wait until the app's script has run, players are drawn and have said what they have to say, nothing is stale,
    for ``quiet_ms`` without a break, counted from now."""
    page.evaluate("window.__settledSince = null")
    page.wait_for_function(
        """(quiet) => {
            const app = document.querySelector('[data-testid="stApp"]');
            const done = app && app.getAttribute('data-test-script-state') === 'notRunning'
                && !document.querySelector('[data-testid="stAppSkeleton"], [data-testid="stSkeleton"]')
                && !document.querySelector('[data-stale="true"], .rp:not([data-ready="true"])')
                && [...document.querySelectorAll('.rp')].every(
                    (player) => player.parentElement.ringside?.player?.sender.timer === null)
                && [...document.querySelectorAll('[data-testid="stBidiComponentRegular"]')].every(
                    (host) => host.childElementCount > 1 || host.closest('[class*="st-key-player-feeds"]'));
            const now = performance.now();
            if (!done) { window.__settledSince = null; return false; }
            window.__settledSince ??= now;
            return now - window.__settledSince >= quiet;
        }""",
        arg=quiet_ms,
        timeout=timeout_ms,
        polling=50,
    )
