"""The Lab without a browser: opening links and files, the followed file, what is kept from a bad one."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from drr.ui import commands, file_bar, policy_file, share
from drr.ui.limits import LINK_CHARACTERS, Limit
from drr.workload.experiment import Experiment, TraceWorkload
from drr.workload.link import decode, encode, to_file
from drr.workload.scenarios import SCENARIOS, scenario

OLD = scenario("premium_burst").experiment.policy_text
NEW = scenario("equal_control").experiment.policy_text
SECONDS = 20.0


def page() -> None:
    """What pages/lab.py does before anything is drawn, and the parts of it that belong to files and sharing."""
    import streamlit as st

    from drr.ui import file_bar, lab_state, share

    def go_to(step: int) -> None:
        st.session_state["went_to"] = step

    file_bar.start()
    lab_state.prepare()
    share.open_link(go_to)
    file_bar.follow()
    inputs = lab_state.inputs()
    st.session_state["experiment"] = inputs.experiment
    with st.container():
        file_bar.show()
    share.show_messages()
    if st.session_state.pop("take", False):
        share.take_upload(go_to)
    share.show_share(inputs.experiment, lambda: 7)


def opened(**query: str) -> AppTest:
    test = AppTest.from_function(page, default_timeout=120)
    for name, value in query.items():
        test.query_params[name] = value
    return test.run()


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_a_link_puts_its_experiment_and_step_into_the_lab(each: object) -> None:
    experiment: Experiment = each.experiment  # type: ignore[attr-defined]
    test = opened(x=encode(experiment, 3))
    assert not test.exception
    assert test.session_state["experiment"] == experiment
    assert test.session_state["went_to"] == 3
    assert not test.error


def test_a_link_is_opened_once_so_that_edits_stay() -> None:
    test = opened(x=encode(scenario("equal_control").experiment))
    test.session_state["lab:policy"] = OLD
    test.run()
    assert test.session_state["experiment"].policy_text == OLD


@pytest.mark.parametrize("code", ["", "1.", "/etc/passwd", "<script>alert(1)</script>", "1." + "A" * 100_000])
def test_a_bad_link_says_so_and_the_lab_is_as_ever(code: str) -> None:
    test = opened(x=code)
    assert not test.exception
    assert "Nothing was opened" in test.error[0].value
    assert test.session_state["experiment"] == scenario("premium_burst").experiment


def test_the_link_that_is_made_leads_to_the_same_experiment() -> None:
    experiment = scenario("hot_worker").experiment
    link = share.link_to(experiment, 12, "http://example.test:8501/lab?old=1#there")
    assert link.startswith("http://example.test:8501/lab?x=1.")
    back = decode(link.partition("?x=")[2], max_characters=LINK_CHARACTERS.value)
    assert (back.experiment, back.step) == (experiment, 12)


# --- shared files and policies ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Upload:
    name: str
    content: bytes

    def getvalue(self) -> bytes:
        return self.content


def upload(test: AppTest, name: str, content: bytes) -> AppTest:
    test.session_state["take"] = True
    test.session_state[share.UPLOAD] = Upload(name, content)
    test.run()
    return test.run()  # in the page the callback comes before the drawing, here after it


def test_a_shared_file_with_its_trace_runs_here() -> None:
    rows = [{"timestamp": 0, "input_length": 600, "output_length": 2, "hash_ids": [n, n + 1]} for n in range(3)]
    trace = "".join(json.dumps(row) + "\n" for row in rows)
    digest = hashlib.sha256(trace.encode()).hexdigest()
    experiment = Experiment(policy_text=OLD, workload=TraceWorkload("t.jsonl", digest, lenient=True))
    test = upload(opened(), "t.ringside.json", to_file(experiment, 2, trace_text=trace).encode())
    assert not test.error
    loaded: Experiment = test.session_state["experiment"]
    assert loaded == experiment
    assert len(loaded.run().requests) == 3
    wrong = to_file(experiment, trace_text=trace + "\n").encode()
    assert "is not the one that its experiment names" in upload(opened(), "t.ringside.json", wrong).error[0].value


def test_a_file_goes_along_with_a_small_trace_and_without_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("é" * 100)
    experiment = Experiment(policy_text=OLD, workload=TraceWorkload("t.jsonl", "0", path=str(path)))
    assert share.trace_text(experiment) == "é" * 100
    assert share.trace_note(experiment).startswith("The file holds the trace too")
    path.write_bytes(b"\x1f\x8b\xff")
    assert share.trace_text(experiment) is None
    monkeypatch.setattr(share, "SHARED_TRACE_BYTES", Limit("RINGSIDE_MAX_SHARED_TRACE_BYTES", 2, "bytes of a trace"))
    assert share.trace_text(experiment) is None
    said = share.trace_note(experiment)
    assert "3 bytes of a trace are more than the 2 that are allowed here (RINGSIDE_MAX_SHARED_TRACE_BYTES" in said
    path.unlink()
    assert share.trace_text(experiment) is None
    assert "it is gone" in share.trace_note(experiment)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.yaml", "# priorité\n".encode("latin-1"), "p.yaml was not opened"),
        ("p.yaml", OLD.encode("utf-16"), "UTF-16"),
        ("x.json", b"{}", "x.json was not opened"),
        ("x.json", b"[" * 1_000_000, "x.json was not opened"),
        ("x.json", b"\xff", "x.json was not opened"),
    ],
)
def test_a_bad_file_leaves_everything_as_it_is(name: str, content: bytes, says: str) -> None:
    test = upload(opened(), name, content)
    assert not test.exception
    assert says in test.error[0].value.replace("\\", "")
    assert test.session_state["experiment"] == scenario("premium_burst").experiment


def test_a_policy_with_a_byte_order_mark_is_opened_without_it() -> None:
    test = upload(opened(), "p.yaml", NEW.encode("utf-8-sig"))
    assert test.session_state["experiment"].policy_text == NEW
    assert "byte-order mark" in test.info[0].value.replace("\\", "")


# --- the followed file ------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "policy.yaml"
    made.write_text(OLD)
    monkeypatch.setenv(policy_file.VARIABLE, str(made))
    return made


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "not reached"
        time.sleep(0.01)


def save_elsewhere(path: Path, text: str) -> None:
    file = file_bar.followed()
    assert file is not None
    path.write_text(text)
    wait_for(lambda: file.text == text)


def policy(test: AppTest) -> str:
    text: str = test.session_state["lab:policy"]
    return text


def test_a_session_begins_with_the_followed_file_and_takes_its_changes(path: Path) -> None:
    test = opened()
    assert policy(test) == OLD
    save_elsewhere(path, NEW)
    assert policy(test.run()) == NEW
    assert not test.warning


def test_unsaved_edits_are_kept_until_somebody_decides(path: Path) -> None:
    test = opened()
    test.session_state["lab:policy"] = OLD + "# mine\n"
    save_elsewhere(path, NEW)
    test.run()
    assert policy(test) == OLD + "# mine\n"
    assert "has changed on disk, and there are unsaved edits here" in test.warning[0].value
    test.button(key="lab:keep_mine").click().run()
    assert policy(test) == OLD + "# mine\n"
    assert not test.warning
    save_elsewhere(path, NEW + "# theirs\n")
    test.run().button(key="lab:take_theirs").click().run()
    assert policy(test) == NEW + "# theirs\n"
    assert not test.warning


def test_the_difference_is_shown_on_request(path: Path) -> None:
    test = opened()
    test.session_state["lab:policy"] = "mine: 1\n"
    save_elsewhere(path, "theirs: 1\n")
    test.run().toggle(key="lab:file_difference").set_value(True).run()
    shown = [each.value for each in test.code if each.language == "diff"]
    assert shown == ["--- here\n+++ on disk\n@@ -1 +1 @@\n-mine: 1\n+theirs: 1"]


def test_save_writes_the_file_and_only_over_what_was_known(path: Path) -> None:
    test = opened()
    assert test.button(key="lab:save").disabled
    test.session_state["lab:policy"] = NEW
    test.run().button(key="lab:save").click().run()
    assert path.read_text() == NEW
    assert test.button(key="lab:save").disabled
    test.session_state["lab:policy"] = OLD
    test.run()
    path.write_text(NEW + "# somebody else\n")
    test.button(key="lab:save").click().run()
    assert "the file has changed on disk in the meantime" in test.error[0].value
    assert path.read_text() == NEW + "# somebody else\n"


def test_a_query_names_no_file(path: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text(NEW)
    test = opened(policy=str(secret), path=str(secret))
    assert policy(test) == OLD
    assert file_bar.followed() is not None
    assert os.fspath(file_bar.followed().path) == str(path)  # type: ignore[union-attr]


# --- commands ---------------------------------------------------------------------------------------------------------


def test_commands_are_quoted_for_a_shell() -> None:
    assert commands.start_command() == (
        "python -m dynamo.frontend --router-mode kv --load-aware \\\n  --router-policy-config ./policy-classes.yaml"
    )
    assert "'./my policy.yaml'" in commands.start_command("my policy.yaml")
    said = commands.request_command("premium", "o'neill; rm -rf")
    assert "-H 'x-dynamo-meta-policy-class: premium'" in said
    assert json.loads(_last_word(said))["model"] == "o'neill; rm -rf"


def _last_word(command: str) -> str:
    import shlex

    return shlex.split(command.replace("\\\n", " "))[-1]
