"""The Lab in a browser, as the tests of editing use it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Download, Locator, Page

from drr.policy.samples import sample
from tests.browser.helpers import StreamlitServer, wait_until_settled
from tests.support import ROOT

SEED = sample("premium_4_to_1").text()
SECONDS = 90.0


def with_quanta(premium: int, regular: int) -> str:
    """The seed policy with other quanta."""
    text = SEED.replace("quantum: 512", f"quantum: {premium}", 1)
    before, _, after = text.rpartition("quantum: 128")
    return f"{before}quantum: {regular}{after}"


@contextmanager
def own_server(
    new_context: Callable[..., BrowserContext], folder: Path, arguments: Sequence[str] = ()
) -> Iterator[tuple[StreamlitServer, Callable[[], Lab]]]:
    """A server of one's own, and a function that opens its Lab in a new browser context."""
    with StreamlitServer(ROOT / "app.py", folder / "server.log", arguments=arguments) as server:
        contexts = []

        def open_lab() -> Lab:
            context = new_context(viewport={"width": 1400, "height": 900})
            contexts.append(context)
            page = context.new_page()
            page.goto(server.url, wait_until="commit")
            wait_until_settled(page)
            return Lab(page)

        try:
            yield server, open_lab
        finally:
            for context in contexts:  # a page complains when its server goes first
                context.close()


class Lab:
    """One page with the Lab on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.content = page.locator(".cm-content").first
        self.keyboard = page.keyboard
        self.content.wait_for()

    @property
    def result(self) -> str:
        """The sentence on top."""
        headings = self.page.locator('[data-testid="stHeading"] h3')
        return headings.first.inner_text() if headings.count() else ""

    def wait(self, wanted: Callable[[], object], what: str = "") -> None:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                if wanted():
                    return
            except AssertionError:
                raise
            except Exception as error:  # an element that was just replaced is looked for again
                if time.monotonic() > deadline:
                    raise error
            if time.monotonic() > deadline:
                pytest.fail(f"not reached: {what}; the result is {self.result!r}", pytrace=False)
            self.page.wait_for_timeout(100)

    def wait_for_ratio(self, ratio: str) -> None:
        """Wait until premium got so many times the tokens of regular."""
        self.wait(lambda: f"got {ratio} × the tokens" in self.result, f"{ratio} ×")

    def wait_for_text(self, text: str) -> None:
        self.wait(lambda: text in self.page.locator('[data-testid="stMain"]').inner_text(), text)

    def alerts(self) -> list[str]:
        return self.page.locator('[data-testid="stAlert"]').all_inner_texts()

    def wait_for_alert(self, pattern: str) -> str:
        found = ""

        def there() -> bool:
            nonlocal found
            found = next((text for text in self.alerts() if re.search(pattern, text)), "")
            return bool(found)

        self.wait(there, f"an alert with {pattern}")
        return found

    def is_stale(self) -> bool:
        """Whether the picture says that it is not from this text."""
        return "Not from this text" in self.page.locator('[data-testid="stMain"]').inner_text()

    def put(self, text: str) -> None:
        """Replace the whole policy, as a paste does."""
        self.content.focus()
        self.keyboard.press("Control+a")
        self.keyboard.insert_text(text)

    def text(self) -> str:
        """The policy in the editor, as far as it is on the screen."""
        return "\n".join(self.content.locator(".cm-line").all_text_contents())

    def run(self) -> None:
        self.page.get_by_role("button", name="Run", exact=True).click()

    def box(self, name: str) -> Locator:
        """The exact number of a class's quantum."""
        return self.page.get_by_role("textbox", name=f"quantum of {name}, tokens")

    def slider(self, name: str) -> Locator:
        return self.page.get_by_role("slider", name=f"quantum of {name}, log scale")

    def open_menu(self, name: str) -> None:
        self.page.locator('[data-testid="stPopover"]').get_by_role("button", name=name).click()

    def upload(self, name: str, content: bytes) -> None:
        """Drop a file into the Open menu."""
        self.open_menu("Open")
        chooser = self.page.locator('[data-testid="stFileUploaderDropzoneInput"]').first
        chooser.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})
        # A menu that is closed too soon takes the upload with it.
        chip = self.page.get_by_test_id("stFileChip").filter(has_text=name[:5])
        chip.first.wait_for(timeout=SECONDS * 1000)
        self.page.get_by_test_id("stFileChipIconSpinner").wait_for(state="detached", timeout=SECONDS * 1000)
        self.page.wait_for_timeout(300)
        wait_until_settled(self.page)
        self.keyboard.press("Escape")

    def download(self, button: str) -> str:
        with self.page.expect_download() as waiting:
            self.page.get_by_role("button", name=button, exact=True).click()
        done: Download = waiting.value
        return Path(done.path()).read_text(encoding="utf-8")

    def shown_step(self) -> str:
        """What the stage says of the step under the playhead."""
        found = re.search(r"step [\d,]+ of [\d,]+", self.page.locator('[data-testid="stMain"]').inner_text())
        return found[0] if found else ""

    def browser_says(self, script: str) -> Any:
        return self.page.evaluate(script)
