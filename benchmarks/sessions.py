"""Many people at once: browsers and websocket clients that edit, run and play on one server for some minutes.

Every client has a class of its own name in its policy and changes a quantum again and again. It waits until the
sentence on top speaks of its own class and of its newest ratio, and no word of anybody else's may ever reach it.
Between its edits it plays: it reports the playhead four times a second, as the browser's player does, and gets the
sentences.

What must hold: no error in the server's log or on any page, no cross-talk, and the server's memory (with its worker
processes) is back to within 20 % of what it was after a first, short round of the same clients. Reported: how long it
takes from an edit to the picture of its run (median, 95th percentile).

``python benchmarks/sessions.py [--seconds 300] [--clients 16] [--browsers 4] [--write]``
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import websockets
from playwright.sync_api import sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from support import ROOT, Figures

from drr.policy.samples import sample
from drr.ui.player.blob import read_blob

sys.path.insert(0, str(ROOT))
from tests.browser.helpers import CHROMIUM_FLAGS, StreamlitServer, find_chromium, wait_until_settled
from tests.browser.lab import Lab

RATIOS = (2, 3, 4, 5, 8)
MEMORY_BAR = 1.2
ANSWER_SECONDS = 120
EXPIRY_SECONDS = 150
"""Streamlit keeps a session that was left for two minutes, in case its browser comes back."""
PLAYED_REPORTS = 12
OWN_CLASS = re.compile(r"premium_c\d+")


@dataclass(slots=True)
class Tally:
    """What all clients found."""

    edit_s: list[float] = field(default_factory=list)
    plays: int = 0
    problems: list[str] = field(default_factory=list)


def policy_of(name: str, ratio: int) -> str:
    """The seed policy with a client's own class name and a ratio."""
    text = sample("premium_4_to_1").text().replace("name: premium", f"name: {name}", 1)
    return text.replace("quantum: 512", f"quantum: {128 * ratio}", 1)


def shows(sentence: str, name: str, ratio: int) -> bool:
    """Whether the sentence on top is about a client's own class and its newest ratio."""
    return f"{name} got" in sentence and f"the quanta ask for {ratio}.0 ×" in sentence


class Client:
    """One websocket session of the Lab, which speaks as Streamlit's page does."""

    def __init__(self, name: str, url: str, tally: Tally) -> None:
        self.name, self.url, self.tally = name, url, tally
        self.states: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.sentence = self.run_id = ""
        self.seq = 0
        self.polled: dict[str, float] = {}
        """Seconds between runs of fragments that the page asks for by itself, by fragment."""

    async def session(self, until: float) -> None:
        """Open the Lab, then edit and play until a time."""
        address = self.url.replace("http", "ws", 1) + "/_stcore/stream"
        async with websockets.connect(address, subprotocols=["streamlit"], max_size=None) as self.socket:
            await self._rerun()
            await self._hear(lambda: bool(self.run_id and self.sentence))
            turn = 0
            while time.monotonic() < until:
                ratio = RATIOS[turn % len(RATIOS)]
                turn += 1
                await self._edit(ratio)
                await self._play()

    async def _edit(self, ratio: int) -> None:
        before = self.run_id
        self.seq += 1
        edit = {"text": policy_of(self.name, ratio), "seq": self.seq, "rev": 0, "run": 0}
        self.states[self.ids["lab:policy_editor"]] = json.dumps({"edit": edit})
        started = time.monotonic()
        await self._rerun()
        await self._hear(lambda: self.run_id != before and shows(self.sentence, self.name, ratio))
        self.tally.edit_s.append(time.monotonic() - started)

    async def _play(self) -> None:
        for number in range(PLAYED_REPORTS):
            view = {"run": self.run_id, "step": 640 + 20 * number, "visit": -1, "log": [], "timeline": None}
            view |= {"csv": None, "pressed": None, "heeded": 0}
            self.states[self.ids["lab:stage"]] = json.dumps({"view": view})
            await self._rerun()
            await asyncio.sleep(0.25)
            await self._hear(lambda: True, finished=True)
            self.tally.plays += 1

    async def _rerun(self, fragment: str = "") -> None:
        message = BackMsg()
        message.rerun_script.query_string = ""
        if fragment:
            message.rerun_script.fragment_id = fragment
            message.rerun_script.is_auto_rerun = True
        for identity, value in self.states.items():
            message.rerun_script.widget_states.widgets.add(id=identity, json_value=value)
        await self.socket.send(message.SerializeToString())

    async def _hear(self, wanted: Any, *, finished: bool = False) -> None:
        """Take messages until something is so, with ``finished`` until the next end of a script run."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            if not finished and wanted():
                return
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{self.name}: no answer; the last sentence was {self.sentence!r}")
            try:
                data = await asyncio.wait_for(self.socket.recv(), min(left, *self.polled.values(), 1.0))
            except TimeoutError:
                for fragment in self.polled:
                    await self._rerun(fragment)
                continue
            message = ForwardMsg()
            message.ParseFromString(data)
            self._take(message)
            if finished and message.WhichOneof("type") == "script_finished":
                return

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "auto_rerun":
                self.polled[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            case "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    self.polled.pop(fragment, None)
        if message.WhichOneof("type") != "delta" or message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        others = set(OWN_CLASS.findall(str(element)[:20_000])) - {self.name}
        if others:
            self.tally.problems.append(f"{self.name} was told of {', '.join(sorted(others))}")
        match element.WhichOneof("type"):
            case "exception":
                self.tally.problems.append(f"{self.name}: {element.exception.message}")
            case "heading":
                self.sentence = element.heading.body.replace("\\", "")
            case "bidi_component":
                self._take_component(element.bidi_component)

    def _take_component(self, component: Any) -> None:
        for key in ("lab:policy_editor", "lab:stage"):
            if component.id.endswith(f"-{key}"):
                self.ids[key] = component.id
                data = bytes(component.bytes)
                if key == "lab:stage" and data:
                    start = 2 + int.from_bytes(data[:2], "little")
                    self.run_id = read_blob(data[start:])[0]["id"]


async def all_clients(count: int, url: str, until: float, tally: Tally) -> None:
    """Run the websocket clients side by side; what one of them fails of is a problem, and the others go on."""
    clients = [Client(f"premium_c{number:02}", url, tally) for number in range(count)]
    for result in await asyncio.gather(*(each.session(until) for each in clients), return_exceptions=True):
        if isinstance(result, BaseException):
            tally.problems.append(f"{type(result).__name__}: {result}")


def browsers(count: int, url: str, until: float, tally: Tally) -> None:
    """The same in real pages of one Chromium, one after the other, while all of them play."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(playwright), headless=True, args=list(CHROMIUM_FLAGS)
        )
        labs = []
        for number in range(count):
            page = chromium.new_context(viewport={"width": 1400, "height": 900}).new_page()
            name = f"premium_c9{number}"
            page.on("pageerror", lambda error, name=name: tally.problems.append(f"{name}: {error}"))
            page.goto(url, wait_until="commit")
            wait_until_settled(page, timeout_ms=ANSWER_SECONDS * 1000)
            labs.append((name, Lab(page)))
        turn = 0
        while time.monotonic() < until:
            ratio = RATIOS[turn % len(RATIOS)]
            turn += 1
            for name, lab in labs:
                started = time.monotonic()
                lab.put(policy_of(name, ratio))
                lab.wait(lambda lab=lab, name=name, ratio=ratio: shows(lab.result, name, ratio), name)
                tally.edit_s.append(time.monotonic() - started)
                others = set(OWN_CLASS.findall(lab.page.locator('[data-testid="stMain"]').inner_text())) - {name}
                if others:
                    tally.problems.append(f"{name} shows {', '.join(sorted(others))}")
                play = lab.page.get_by_role("button", name="Play")
                if play.count():
                    play.click()
                    tally.plays += 1
        chromium.close()


def resident_mb(pid: int) -> float:
    """Memory of a process and all that it started, in MB."""
    pages = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and pid in ancestry(int(folder.name)):
            try:
                pages += int((folder / "statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def ancestry(pid: int) -> set[int]:
    """A process and those it comes from."""
    found = set()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            break
    return found


def round_of(seconds: float, clients: int, pages: int, url: str) -> Tally:
    """Everybody works for so long, then leaves."""
    tally = Tally()
    until = time.monotonic() + seconds
    thread = threading.Thread(target=_guarded, args=(pages, url, until, tally))
    if pages:
        thread.start()
    asyncio.run(all_clients(clients, url, until, tally))
    if pages:
        thread.join()
    return tally


def _guarded(pages: int, url: str, until: float, tally: Tally) -> None:
    try:
        browsers(pages, url, until, tally)
    except BaseException as error:
        tally.problems.append(f"browsers: {type(error).__name__}: {error}")


def main() -> int:
    """Measure, print, and say with the exit code whether the bars are met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300, help="how long everybody works (default 300)")
    parser.add_argument("--clients", type=int, default=16, help="websocket clients (default 16)")
    parser.add_argument("--browsers", type=int, default=4, help="pages in a browser (default 4)")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        with StreamlitServer(ROOT / "app.py", log) as server:
            pid = server.process.pid
            warm = round_of(min(60.0, options.seconds), options.clients, options.browsers, server.url)
            time.sleep(EXPIRY_SECONDS)
            before = resident_mb(pid)
            tally = round_of(options.seconds, options.clients, options.browsers, server.url)
            busy = resident_mb(pid)
            time.sleep(EXPIRY_SECONDS)
            after = resident_mb(pid)
        errors = [line for line in log.read_text().splitlines() if "Traceback" in line]
    problems = [*warm.problems, *tally.problems]
    for problem in problems[:20]:
        print(f"problem: {problem}"[:300])
    figures.add("edits that came back as pictures", len(tally.edit_s))
    figures.add("reports of a playhead", tally.plays)
    figures.add("problems on any client, words of another's policy among them", len(problems), bar=0)
    figures.add("errors in the server's log", len(errors), bar=0)
    if len(tally.edit_s) > 1:
        figures.add("edit to picture, median", median(tally.edit_s), "s")
        figures.add("edit to picture, 95th percentile", quantiles(tally.edit_s, n=20)[-1], "s")
    figures.add("memory after a first round", before, "MB")
    figures.add("memory while all work", busy, "MB")
    figures.add("memory at the end over that after the first round", after / before, bar=MEMORY_BAR)
    return figures.finish("benchmarks/sessions.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
