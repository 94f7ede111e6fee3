"""``python -m drr probe``: consent, result, prediction, expectations, files, exit codes."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest

from drr.cli import main
from drr.policy.samples import sample
from tests.dynamo.fake_endpoint import FakeEndpoint, ScriptedWorker

LOAD = ("--model", "m", "--class", "premium=12", "--class", "regular=12", "--tokens", "16")


def scripted(pattern: str = "pppr") -> FakeEndpoint:
    return FakeEndpoint(ScriptedWorker(24, pattern, {"p": "premium", "r": "regular"}))


class Terminal(io.StringIO):
    """Somebody who types one line."""

    def isatty(self) -> bool:
        return True


def test_the_result_is_printed_saved_and_held_against_what_was_expected(tmp_path, capsys):
    rows, table = tmp_path / "rows.jsonl", tmp_path / "rows.csv"
    with scripted() as endpoint:
        arguments = ["probe", endpoint.url, *LOAD, "--yes", "--save", str(rows), "--save", str(table)]
        assert main([*arguments, "--expect", "premium=9"]) == 0
    printed = capsys.readouterr()
    assert "Of the first 12 completions: 9 premium and 3 regular. 24 of 24 requests answered." in printed.out
    assert "premium 9 of the first completions, 9..9 expected: holds" in printed.out
    assert "Send 24 requests (12 premium and 12 regular) of 16 tokens to 127.0.0.1:" in printed.err
    head, *lines = (json.loads(line) for line in rows.read_text().splitlines())
    assert head["probe"]["classes"] == [["premium", 12], ["regular", 12]]
    assert len(lines) == 24
    with table.open(newline="") as file:
        completions = [int(row["completion"]) for row in csv.DictReader(file)]
    assert sorted(completions) == list(range(1, 25))


def test_another_share_than_expected_is_exit_code_1(capsys):
    with scripted("pr") as endpoint:
        assert main(["probe", endpoint.url, *LOAD, "--yes", "--first", "10", "--expect", "premium=8..10"]) == 1
    assert "premium 5 of the first completions, 8..10 expected: does not hold" in capsys.readouterr().out


def test_refused_requests_are_exit_code_1(capsys):
    with FakeEndpoint(lambda seen, reply: reply.whole(529, {"message": "full"})) as endpoint:
        assert main(["probe", endpoint.url, *LOAD, "--yes"]) == 1
    printed = capsys.readouterr().out
    assert "None of the 24 requests was answered; 24 refused." in printed
    assert "24 x HTTP 529: full" in printed


def test_our_prediction_stands_beside(tmp_path, capsys):
    policy = tmp_path / "policy.yaml"
    policy.write_text(sample("premium_4_to_1").text())
    with FakeEndpoint() as endpoint:
        assert main(["probe", endpoint.url, *LOAD, "--yes", "--policy", str(policy), "--engine", "max_num_seqs=1"]) == 0
    assert "our prediction (carry rule, mock engine), of the first 12: premium " in capsys.readouterr().out


def test_nothing_is_sent_without_consent(monkeypatch, capsys):
    with FakeEndpoint() as endpoint:
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        assert main(["probe", endpoint.url, *LOAD]) == 2
        assert "--yes agrees beforehand" in capsys.readouterr().err
        monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
        assert main(["probe", endpoint.url, *LOAD]) == 2
        assert "nothing was sent" in capsys.readouterr().err
        assert endpoint.seen == []
        monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
        assert main(["probe", endpoint.url, *LOAD]) == 0
        assert len(endpoint.posts) == 24


def test_without_classes_requests_are_counted_and_carry_no_header():
    with FakeEndpoint() as endpoint:
        assert main(["probe", endpoint.url, "--model", "m", "--count", "3", "--rate", "100", "--yes"]) == 0
    assert [seen.policy_class for seen in endpoint.posts] == [None] * 3


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--class", "batch=5000"), "requests of batch: 5,000 given, 1 to 2,000 are allowed"),
        (("--rate", "9999"), "requests per second: 9,999.0 given"),
        (("--save", "rows.txt"), "a name that ends in .jsonl or .csv is expected"),
        (("--expect", "premium"), "NAME=LEAST..MOST is expected"),
        (("--expect", "premium=9", "--expect", "premum=9"), "no such class is sent; there are: premium, regular"),
        (("--expect", "premium=262..250"), "262 is more than 250"),
        (("--first", "0"), "at least 1 is allowed"),
        (("--key-env", "NO_SUCH_KEY"), "the environment variable NO_SUCH_KEY is not set"),
    ],
)
def test_what_is_not_allowed_is_said_before_anything_is_sent(monkeypatch, capsys, more, text):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with FakeEndpoint() as endpoint:
        assert main(["probe", endpoint.url, *LOAD, "--yes", *more]) == 2
        assert endpoint.seen == []
    assert text in capsys.readouterr().err
