"""A followed policy file, shared links and files, sessions that do not meet, runs that end badly."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.helpers import PageWatch, StreamlitServer, wait_until_settled
from tests.browser.lab import SEED, Lab, own_server, with_quanta

OpenApp = Callable[..., Page]
NewContext = Callable[..., BrowserContext]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "my policy.yaml"
    made.write_text(SEED)
    return made


@pytest.fixture
def following(path: Path, tmp_path: Path, new_context: NewContext) -> Iterator[Callable[[], Lab]]:
    """Opens the Lab of a server that follows ``path``."""
    with own_server(new_context, tmp_path, ["--policy", str(path)]) as (_, open_lab):
        yield open_lab


# --- the followed file ----------------------------------------------------------------------------------------------


def test_saving_the_file_in_any_editor_changes_the_picture(following: Callable[[], Lab], path: Path) -> None:
    lab = following()
    lab.wait_for_ratio("4.0")
    lab.wait_for_text("my policy.yaml · watching the file")
    path.write_text(with_quanta(512, 256))
    lab.wait_for_ratio("2.0")
    other = path.with_suffix(".tmp")
    other.write_text(with_quanta(512, 512))
    os.replace(other, path)
    lab.wait_for_ratio("1.0")
    path.unlink()
    lab.wait_for_alert("is not there now")
    assert "got 1.0 ×" in lab.result
    path.write_text(with_quanta(512, 64))
    lab.wait_for_ratio("8.2")
    path.write_text(SEED.replace("quantum: 512", "quantum 512"))
    lab.wait_for_alert("✕ error.*line 16")
    lab.wait(lab.is_stale, "a mark on the picture")


def test_unsaved_edits_are_never_overwritten_silently(following: Callable[[], Lab], path: Path) -> None:
    lab = following()
    lab.put(with_quanta(512, 256))
    lab.wait_for_text("unsaved edits")
    path.write_text(with_quanta(512, 512))
    lab.wait_for_alert("has changed on disk, and there are unsaved edits here")
    assert "got 2.0 ×" in lab.result
    lab.page.get_by_text("See the difference").click()
    lab.wait_for_text("+    quantum: 512")
    lab.page.get_by_role("button", name="Keep mine").click()
    lab.wait(lambda: not lab.alerts(), "no banner")
    assert "got 2.0 ×" in lab.result
    path.write_text(with_quanta(512, 64))
    lab.wait_for_alert("has changed on disk")
    lab.page.get_by_role("button", name="Take theirs").click()
    lab.wait_for_ratio("8.2")
    lab.wait_for_text("watching the file")


def test_save_writes_this_file_alone_and_other_pages_follow(following: Callable[[], Lab], path: Path) -> None:
    first, second = following(), following()
    first.put(with_quanta(512, 256))
    first.wait_for_ratio("2.0")
    first.page.get_by_role("button", name="Save", exact=True).click()
    second.wait_for_ratio("2.0")
    assert path.read_text() == with_quanta(512, 256)
    assert sorted(each.name for each in path.parent.iterdir() if each.suffix != ".log") == [path.name]
    first.wait_for_text("watching the file")


def test_the_commands_name_the_file_and_the_header(following: Callable[[], Lab]) -> None:
    lab = following()
    lab.page.get_by_text("Use it with the real router").click()
    lab.wait_for_text("--router-policy-config './my policy.yaml'")
    lab.wait_for_text("x-dynamo-meta-policy-class: premium")


# --- sharing --------------------------------------------------------------------------------------------------------


def make_link(lab: Lab) -> str:
    lab.open_menu("Share")
    lab.page.get_by_role("button", name="Make a link to this step").click()
    link = lab.page.locator('[data-testid="stPopoverBody"] code').first
    link.wait_for()
    return link.inner_text().strip()


def test_a_link_opens_the_same_policy_and_step_in_another_browser(open_app: OpenApp) -> None:
    lab = Lab(open_app())
    lab.put(with_quanta(512, 64))
    lab.wait_for_ratio("8.2")
    before = lab.shown_step()
    lab.page.get_by_role("button", name="Back").click()
    lab.wait(lambda: lab.shown_step() not in ("", before), "the step before")
    wait_until_settled(lab.page)
    step = lab.shown_step()
    link = make_link(lab)
    assert len(link) < 2_000
    other = Lab(open_app("/" + link.partition("/?")[2].join(["?", ""])))
    other.wait_for_ratio("8.2")
    assert other.text() == lab.text()
    other.wait(lambda: other.shown_step() == step, f"{step}, and not {other.shown_step()}")


def test_a_broken_link_says_so_and_loads_nothing(open_app: OpenApp) -> None:
    lab = Lab(open_app())
    lab.put(with_quanta(512, 64))
    lab.wait_for_ratio("8.2")
    link = make_link(lab)
    code = link.partition("?x=")[2]
    changed = code[:40] + ("A" if code[40] != "A" else "B") + code[41:]
    for broken, says in (
        (code[:-9], "cut or changed"),
        (changed, "cut or changed"),
        ("1." + "A" * 20_000, "at most 7,000 are read"),
    ):
        other = Lab(open_app("/?x=" + broken))
        other.wait_for_alert(f"Nothing was opened: .*{says}")
        other.wait_for_ratio("4.0")
    other.put(with_quanta(512, 512))
    other.wait_for_ratio("1.0")


def test_an_experiment_travels_as_a_file(open_app: OpenApp) -> None:
    lab = Lab(open_app())
    lab.put(with_quanta(512, 256) + "# " + "".join(str(n * 7919) for n in range(6000)) + "\n")
    lab.wait_for_ratio("2.0")
    lab.open_menu("Share")
    lab.page.get_by_role("button", name="Make a link to this step").click()
    lab.wait(
        lambda: "Take the file instead" in lab.page.locator('[data-testid="stPopoverBody"]').inner_text(), "a hint"
    )
    saved = lab.download("Download as .ringside.json")
    other = Lab(open_app())
    other.upload("experiment.ringside.json", saved.encode())
    other.wait_for_ratio("2.0")
    other.upload("broken.ringside.json", saved.encode()[:-300])
    other.wait_for_alert("broken.ringside.json was not opened: this is no JSON text")
    assert "got 2.0 ×" in other.result


# --- sessions, and runs that end badly ------------------------------------------------------------------------------


def test_two_browsers_never_see_each_others_text_runs_or_uploads(open_app: OpenApp) -> None:
    first, second = Lab(open_app()), Lab(open_app())
    first.put(with_quanta(512, 64) + "# only the first one's\n")
    first.wait_for_ratio("8.2")
    second.upload("mine.yaml", (with_quanta(512, 512) + "# only the second one's\n").encode())
    second.wait_for_ratio("1.0")
    for lab, other in ((first, "second"), (second, "first")):
        wait_until_settled(lab.page)
        assert f"only the {other} one's" not in lab.text()
        assert f"only the {other} one's" not in lab.page.content()
    assert "got 8.2 ×" in first.result
    fresh = Lab(open_app())
    fresh.wait_for_ratio("4.0")
    assert "one's" not in fresh.page.content()


def worker_processes(server: StreamlitServer) -> list[int]:
    children = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    pids = [int(pid) for each in children for pid in each.read_text().split()]
    return [pid for pid in pids if b"worker_process" in Path(f"/proc/{pid}/cmdline").read_bytes()]


HEAVY = "streams:\n" + "".join(
    f"  - {{header: {name}, requests: 60000, arrivals: {{shape: burst}}, input_tokens: 512, output_tokens: 1}}\n"
    for name in ("premium", "regular")
)


def start_heavy_run(lab: Lab) -> None:
    """A run of many seconds, by way of a shared experiment."""
    from drr.workload.experiment import Experiment, SpecWorkload
    from drr.workload.link import to_file
    from drr.workload.scenarios import scenario

    engine = scenario("premium_burst").experiment.engine
    policy = SEED.replace("    request_queue_limit_per_worker: 1024\n", "")
    lab.upload(
        "heavy.ringside.json",
        to_file(Experiment(policy_text=policy, workload=SpecWorkload(HEAVY), engine=engine)).encode(),
    )


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes by /proc")
def test_a_killed_run_says_so_and_can_be_tried_again(tmp_path: Path, new_context: NewContext) -> None:
    with own_server(new_context, tmp_path) as (server, open_lab):
        lab = open_lab()
        lab.wait_for_ratio("4.0")
        start_heavy_run(lab)
        lab.wait_for_text("of 120,000 requests")
        for pid in worker_processes(server):
            os.kill(pid, signal.SIGKILL)
        lab.wait_for_alert("No new picture: the process of this run was ended by signal 9")
        lab.wait(lab.is_stale, "a mark on the picture")
        lab.page.get_by_role("button", name="Retry").click()
        lab.wait_for_text("of 120,000 requests")
        lab.page.get_by_role("button", name="Cancel").click()
        lab.wait_for_alert("The run was cancelled")
        lab.put(with_quanta(512, 256))
        lab.wait(lambda: "640" not in lab.result, "the session goes on")


def test_a_heavy_run_freezes_no_other_session_and_the_time_limit_is_named(
    tmp_path: Path, new_context: NewContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGSIDE_MAX_RUN_SECONDS", "3")
    with own_server(new_context, tmp_path) as (_, open_lab):
        heavy, other = open_lab(), open_lab()
        other.wait_for_ratio("4.0")
        start_heavy_run(heavy)
        began = time.monotonic()
        other.put(with_quanta(512, 256))
        other.wait_for_ratio("2.0")
        assert time.monotonic() - began < 10
        heavy.wait_for_alert(r"longer than the 3 seconds that are allowed here \(RINGSIDE_MAX_RUN_SECONDS sets it\)")
        expect(heavy.page.get_by_role("button", name="Retry")).to_be_visible()


def test_the_server_opens_no_path_that_a_browser_names(open_app: OpenApp, page_watch: PageWatch) -> None:
    lab = Lab(open_app("/?policy=/etc/passwd&x=/etc/passwd&file=/etc/passwd"))
    lab.wait_for_alert("Nothing was opened")
    assert not re.search(r"root:.*:0:0", lab.page.content())
    lab.wait_for_ratio("4.0")
