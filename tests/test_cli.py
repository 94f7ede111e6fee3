"""What the verbs of the command line have in common: numbers that are none, files that cannot be written, Ctrl-C."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from drr.cli import main
from drr.cli import run as run_verb
from drr.cli.inputs import write_bytes_whole
from drr.errors import WorkloadError
from drr.policy.samples import sample


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    trace = tmp_path / "trace.jsonl"
    rows = [{"timestamp": 0, "input_length": 64, "output_length": 1, "hash_ids": [i]} for i in range(9)]
    trace.write_text("".join(json.dumps({**row, "policy_class": "=1+1"}) + "\n" for row in rows))
    return ["--policy", str(sample("premium_4_to_1").path), "--trace", str(trace)]


@pytest.mark.parametrize("number", ["-5", "0", "x", "1.5", "\u0663"])
@pytest.mark.parametrize(
    "verb",
    [
        ("export", "--trace", "t", "--out", "o.gif", "--count"),
        ("verify", "--router", "--cases"),
        ("verify", "--router", "--policies"),
    ],
    ids=lambda verb: " ".join((verb[0], verb[-1])),
)
def test_a_number_of_things_is_at_least_one(
    verb: tuple[str, ...], number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*verb, number])
    assert ended.value.code == 2
    assert "is no whole number of at least 1" in capsys.readouterr().err


def test_an_interruption_claims_nothing_about_files(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*inputs: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_verb, "load_run", interrupted)
    assert main(["run", *arguments]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_bytes_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    write_bytes_whole(path, b"\r\n\x00")
    assert path.read_bytes() == b"\r\n\x00"
    with pytest.raises(WorkloadError, match=r"cannot write .*beneath"):
        write_bytes_whole(path / "beneath", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WorkloadError, match=r"cannot write .*folder"):
        write_bytes_whole(tmp_path / "folder", b"")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "out.bin"]


def test_without_what_parquet_needs_the_verb_says_what_brings_it(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["run", *arguments, "--out", str(tmp_path / "o.parquet")]) == 2
    said = capsys.readouterr().err
    assert said == "error: Parquet needs pyarrow (pip install pyarrow); .csv needs nothing\n"
    assert not [each for each in tmp_path.iterdir() if "parquet" in each.name]
