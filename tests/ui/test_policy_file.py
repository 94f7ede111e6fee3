from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drr.ui.policy_file import VARIABLE, PolicyFile, PolicyFileError, named_path

SECONDS = 10.0
OLD, NEW = "quantum: 512 # old\n", "quantum: 128 # new\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "policy-classes.yaml"
    made.write_text(OLD)
    return made


@pytest.fixture
def watched(path: Path) -> Iterator[PolicyFile]:
    made = PolicyFile(path)
    yield made
    made.close()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "not seen"
        time.sleep(0.01)


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def by_replacement(path: Path, text: str) -> None:
    other = path.with_suffix(".new")
    other.write_text(text)
    os.replace(other, path)


def with_a_backup(path: Path, text: str) -> None:
    os.rename(path, path.with_suffix(".yaml~"))
    path.write_text(text)


def by_deleting_first(path: Path, text: str) -> None:
    path.unlink()
    time.sleep(0.05)
    path.write_text(text)


@pytest.mark.parametrize("save", [in_place, by_replacement, with_a_backup, by_deleting_first])
def test_every_way_of_saving_is_seen(watched: PolicyFile, path: Path, save: Callable[[Path, str], None]) -> None:
    assert (watched.text, watched.problem) == (OLD, "")
    version = watched.version
    save(path, NEW)
    wait_for(lambda: watched.text == NEW and not watched.problem)
    assert watched.version > version
    save(path, OLD)
    wait_for(lambda: watched.text == OLD and not watched.problem)


def test_a_file_written_in_pieces_is_read_when_it_is_whole(watched: PolicyFile, path: Path) -> None:
    seen = []
    with path.open("w") as file:
        for piece in ("quantum: ", "64 ", "# three pieces\n"):
            file.write(piece)
            file.flush()
            seen.append(watched.text)
    wait_for(lambda: watched.text == "quantum: 64 # three pieces\n")
    assert set(seen) == {OLD}


def test_a_file_that_goes_away_keeps_its_last_text_and_says_so(watched: PolicyFile, path: Path) -> None:
    path.unlink()
    wait_for(lambda: watched.problem)
    assert watched.problem.startswith("policy-classes.yaml is not there now")
    assert watched.text == OLD
    path.write_text(NEW)
    wait_for(lambda: watched.text == NEW and not watched.problem)


def test_other_files_and_equal_texts_change_nothing(watched: PolicyFile, path: Path) -> None:
    version = watched.version
    (path.parent / "other.yaml").write_text(NEW)
    path.write_text(OLD)
    time.sleep(0.3)
    assert watched.version == version


def test_a_link_into_another_folder_is_followed_when_it_is_turned(tmp_path: Path) -> None:
    for name, text in (("one", OLD), ("two", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(text)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "data").symlink_to(tmp_path / "one")
    (mounted / "policy.yaml").symlink_to(mounted / "data" / "policy.yaml")
    watched = PolicyFile(mounted / "policy.yaml")
    try:
        assert watched.text == OLD
        (mounted / "data.new").symlink_to(tmp_path / "two")
        os.replace(mounted / "data.new", mounted / "data")
        wait_for(lambda: watched.text == NEW)
    finally:
        watched.close()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("# priorité\n".encode("latin-1"), "not UTF-8 text: byte 0xE9"),
        ("quantum: 1\n".encode("utf-16"), "UTF-16"),
        (b"#" * (1024 * 1024 + 1), "longer than 1,048,576 bytes"),
    ],
)
def test_what_is_no_text_is_a_problem_not_an_exception(watched: PolicyFile, path: Path, data: bytes, says: str) -> None:
    path.write_bytes(data)
    wait_for(lambda: says in watched.problem)
    for expected in (watched.text, None):
        with pytest.raises(PolicyFileError, match="what cannot be read is not replaced"):
            watched.save(NEW, expected=expected)
    assert path.read_bytes() == data
    fresh = PolicyFile(path)
    assert fresh.text is None, "nobody begins with a part of a file"
    fresh.close()


def test_a_file_that_is_not_there_at_the_start_is_waited_for(tmp_path: Path) -> None:
    watched = PolicyFile(tmp_path / "late.yaml")
    try:
        assert watched.text is None
        assert "is not there now" in watched.problem
        (tmp_path / "late.yaml").write_text(NEW)
        wait_for(lambda: watched.text == NEW and not watched.problem)
    finally:
        watched.close()
    nowhere = PolicyFile(tmp_path / "no" / "such" / "folder.yaml")
    assert "cannot be watched" in nowhere.problem
    nowhere.close()


def test_saving_writes_the_text_byte_by_byte_and_keeps_the_permissions(watched: PolicyFile, path: Path) -> None:
    path.chmod(0o640)
    text = "\ufeffa: 1\r\nb: é 日本\n"
    watched.save(text, expected=OLD)
    assert path.read_bytes() == text.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert watched.text == text
    assert [each.name for each in path.parent.iterdir()] == [path.name], "no temporary file is left"


def test_saving_keeps_a_symbolic_link(tmp_path: Path, path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    watched = PolicyFile(link)
    try:
        watched.save(NEW, expected=OLD)
    finally:
        watched.close()
    assert link.is_symlink()
    assert path.read_text() == NEW


def test_saving_over_somebody_elses_change_is_refused(watched: PolicyFile, path: Path) -> None:
    path.write_text("quantum: 7\n")
    with pytest.raises(PolicyFileError, match="has changed on disk"):
        watched.save(NEW, expected=OLD)
    assert path.read_text() == "quantum: 7\n"
    watched.save(NEW, expected="quantum: 7\n")
    assert path.read_text() == NEW


def test_a_deleted_file_can_be_saved_anew(watched: PolicyFile, path: Path) -> None:
    path.unlink()
    watched.save(NEW, expected=OLD)
    assert path.read_text() == NEW


def test_a_folder_that_is_gone_is_an_error_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "p.yaml"
    path.write_text(OLD)
    watched = PolicyFile(path)
    watched.close()
    path.unlink()
    folder.rmdir()
    with pytest.raises(PolicyFileError, match=r"p.yaml cannot be written: No such file"):
        watched.save(NEW, expected=OLD)


def test_the_path_comes_from_the_command_line_or_else_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert named_path([]) is None
    assert named_path(["--policy"]) is None
    assert named_path(["--policy", "a.yaml", "--other", "x"]) == tmp_path / "a.yaml"
    assert named_path(["--policy=b.yaml"]) == tmp_path / "b.yaml"
    monkeypatch.setenv(VARIABLE, "/etc/c.yaml")
    assert named_path([]) == Path("/etc/c.yaml")
    assert named_path(["--policy", "a.yaml"]) == tmp_path / "a.yaml"
