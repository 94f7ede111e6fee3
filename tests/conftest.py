"""What all tests share: Hypothesis profiles, the shared folder, and the order of the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

from tests.browser.helpers import CHROMIUM_FLAGS, find_chromium
from tests.support import (
    IN_CI,
    ROOT,
    a_router_wheel_exists_for_this_machine,
    skip_or_fail,
    the_real_router_is_installed,
)

settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("RINGSIDE_HYPOTHESIS") or ("ci" if IN_CI else "dev"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test of the real router needs the real router."""
    if item.get_closest_marker("router") and not the_real_router_is_installed():
        skip_or_fail(
            "the real router is not installed: pip install -e .[router]",
            must_be_here=IN_CI and a_router_wheel_exists_for_this_machine(),
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests go last: they are slow, and Playwright keeps an event loop running in this thread.

    In CI, where machines are shared and may stall for seconds, one that fails has a second try; the summary tells so.
    """
    for item in items if IN_CI else ():
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The folder of recordings and traces: RINGSIDE_SHARED, else ``../shared`` seen from the project.

    RINGSIDE_SHARED set to nothing says that there is none here, and skips what needs it, in CI too.
    """
    named = os.environ.get("RINGSIDE_SHARED")
    folder = (ROOT / (named or "../shared")).resolve()
    if named == "" or not folder.is_dir():
        skip_or_fail(
            "no shared folder of recordings and traces; RINGSIDE_SHARED names one",
            must_be_here=IN_CI and named != "",
        )
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, headless, one for the whole session: Playwright does not start twice in a thread."""
    with sync_playwright() as playwright:
        executable = find_chromium(playwright)
        if executable is None:
            skip_or_fail("no Chromium found; install one, or name it with RINGSIDE_CHROMIUM")
        chromium = playwright.chromium.launch(executable_path=executable, headless=True, args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()
