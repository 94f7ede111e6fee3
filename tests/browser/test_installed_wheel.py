"""``ringside app`` out of an installed wheel, far from any checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.helpers import SERVER_START_SECONDS, free_port, wait_until_settled
from tests.support import ROOT

POLICY = """\
default_policy_family: gold
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: gold, policy_family: gold, cache_bucket: all, quantum: 640, prefill_busy_threshold: 512}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel in it; its libraries are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    home = folder / "environment"
    venv.create(home, symlinks=os.name == "posix")
    programs = home / ("bin" if os.name == "posix" else "Scripts")
    install = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-index", str(wheel)], check=True, capture_output=True)
    # A line in a .pth file adds a folder without what its own .pth files add, such as the checkout.
    site = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    (Path(site) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SERVER_START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the app does not answer; it says:\n{log.read_text()}")


def test_a_wheel_shows_the_lab_with_the_policy_that_was_named(
    installed: Path, tmp_path: Path, new_page: NewPage
) -> None:
    (tmp_path / "mine.yaml").write_text(POLICY)
    log, port = tmp_path / "server.log", free_port()
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RINGSIDE", "VIRTUAL"))
    }
    command = [str(installed / "ringside"), "app", "--port", str(port), "--policy", "mine.yaml"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=tmp_path, env=clean, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        page = new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        wait_until_settled(page)
        expect(page.get_by_text("quantum: 640")).to_be_visible()
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
        where = [str(installed / "python"), "-c", "import drr; print(drr.__file__)"]
        found = subprocess.run(where, cwd=tmp_path, env=clean, capture_output=True, text=True, check=True).stdout
        assert str(installed.parent) in found
        page.goto("about:blank")  # before its server goes away
    finally:
        process.terminate()
        process.wait(20)
    assert "127.0.0.1" in log.read_text()
