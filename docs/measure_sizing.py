"""What a session costs the server, for docs/deploy.md: ``python docs/measure_sizing.py [--sessions 10]``.

Opens the Lab in so many pages of one browser, edits the policy once in each, and reads what the server and its worker
processes use (Linux: PSS and CPU time from /proc, so memory that processes share counts once).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.browser.helpers import CHROMIUM_FLAGS, StreamlitServer, find_chromium, wait_until_settled  # noqa: E402
from tests.browser.lab import Lab, with_quanta  # noqa: E402

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def tree(process: int) -> list[int]:
    """A process and everything it started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(each for child in children for each in tree(int(child)))]


def memory_mib(process: int) -> float:
    """Memory of a process and its children; pages that they share count once."""
    texts = (Path(f"/proc/{each}/smaps_rollup").read_text() for each in tree(process))
    return sum(int(re.findall(r"^Pss: +(\d+) kB", text, re.MULTILINE)[0]) for text in texts) / 1024


def cpu_s(process: int) -> float:
    """CPU seconds of a process and its children."""
    fields = (Path(f"/proc/{each}/stat").read_text().rsplit(") ", 1)[1].split() for each in tree(process))
    return sum(int(each[11]) + int(each[12]) for each in fields) / TICKS_PER_SECOND


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10)
    sessions: int = parser.parse_args().sessions
    log = Path(tempfile.mkdtemp()) / "server.log"
    with StreamlitServer(ROOT / "app.py", log) as server, sync_playwright() as playwright:
        process = server.process.pid
        chromium = playwright.chromium.launch(executable_path=find_chromium(playwright), args=list(CHROMIUM_FLAGS))
        context = chromium.new_context()

        def measured(what: str, before: tuple[float, float], number: int) -> tuple[float, float]:
            time.sleep(3)
            now = memory_mib(process), cpu_s(process)
            each = (now[0] - before[0]) / number, (now[1] - before[1]) / number
            print(f"{what:34} {now[0]:5,.0f} MiB in all; {each[0]:6.1f} MiB and {each[1]:5.2f} s of CPU each")
            return now

        def opened() -> Lab:
            page = context.new_page()
            page.goto(server.url, wait_until="commit")
            wait_until_settled(page)
            return Lab(page)

        start = measured("server, nobody there", (0.0, 0.0), 1)
        labs = [opened()]
        one = measured("first session", start, 1)
        labs += [opened() for _ in range(sessions - 1)]
        several = measured("further sessions, the same run", one, max(1, sessions - 1))
        for number, lab in enumerate(labs):
            before = lab.result
            lab.put(with_quanta(512, 200 + number))
            lab.wait(lambda lab=lab, before=before: lab.result != before, "a result of its own")
            wait_until_settled(lab.page)
        measured("an edit in each, a run of its own", several, sessions)
        chromium.close()


if __name__ == "__main__":
    main()
