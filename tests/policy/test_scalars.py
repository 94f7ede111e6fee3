"""What a written value means. The spellings in doubt were settled by asking the real loader."""

from __future__ import annotations

import math

import pytest

from drr.policy import read_policy
from drr.policy.scalars import decimal_number, plain_value, whole_number
from tests.policy.texts import PREMIUM, with_quantum

TOO_LONG = "9" * 400


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("512", 512),
        ("+512", 512),
        ("0x200", 512),
        ("+0x10", 16),
        ("0xFf", 255),
        ("0o1000", 512),
        ("0b1000", 8),
        ("-5", -5),
        ("-0x5", -5),
        ("18446744073709551616", 2**64),
    ],
)
def test_whole_numbers_are_read(written: str, value: int) -> None:
    assert whole_number(written) == value
    assert plain_value(written) == value


NO_WHOLE_NUMBERS = "0100 00 -00 08 1_000 1:30 1e3 512.0 0x 0X10 0O17 0B1 0xG 0o8 0x+1 ++1 +-1 --1 ٣ 2026-11-29 0x1p3"
NO_DECIMAL_NUMBERS = "1_0.5 0x10 0b1 inf nan infinity NaN 1e400 5e 0.1.2 1,5 . ++1 1d5 ٣ -.nan +.nan"


@pytest.mark.parametrize("written", [*NO_WHOLE_NUMBERS.split(), "", " 5", "5 ", str(2**128), TOO_LONG])
def test_these_are_no_whole_numbers(written: str) -> None:
    assert whole_number(written) is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("16", 16.0),
        (".5", 0.5),
        ("+.5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("-0.1", -0.1),
        ("007", 7.0),
        ("1e-400", 0.0),
        (".inf", math.inf),
        ("+.INF", math.inf),
        ("-.Inf", -math.inf),
    ],
)
def test_decimal_numbers_are_read(written: str, value: float) -> None:
    assert decimal_number(written) == value


@pytest.mark.parametrize("written", [*NO_DECIMAL_NUMBERS.split(), "", TOO_LONG])
def test_these_are_no_decimal_numbers(written: str) -> None:
    assert decimal_number(written) is None


def test_not_a_number_is_read_as_such() -> None:
    assert [math.isnan(decimal_number(written) or 0.0) for written in (".nan", ".NaN", ".NAN")] == [True] * 3


@pytest.mark.parametrize(
    "written", ["no", "yes", "on", "off", "y", "0100", "1_000", "1:30", "007", "2026-11-29", "tRUE"]
)
def test_what_yaml_1_1_would_convert_is_text(written: str) -> None:
    assert plain_value(written) == written


@pytest.mark.parametrize(
    ("written", "value"), [("", None), ("~", None), ("NULL", None), ("True", True), ("FALSE", False)]
)
def test_null_and_booleans_are_read(written: str, value: object) -> None:
    assert plain_value(written) is value


@pytest.mark.parametrize(
    ("written", "quantum"),
    [
        ("0x200", 512),
        ("+512", 512),
        ("512\t# note", 512),
        ("\t512", 512),
        ("0o17", 15),
        ("18446744073709551615", 2**64 - 1),
        ("!!int 5", 5),
        ("!!str 5", 5),
        ("!anything 5", 5),
        ("&anchor 5", 5),
        ("!!int |-\n      5", 5),
    ],
)
def test_a_quantum_may_be_written_so(written: str, quantum: int) -> None:
    document = read_policy(with_quantum(written)).document
    assert document is not None
    assert document.profile_for().classes[0].quantum == quantum


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [
        ("4_096", "4096"),
        ("0100", "100"),
        ("1:30", None),
        ("1e3", "1000"),
        ('"512"', "512"),
        ("512.0", "512"),
        ("08", "8"),
        ("4,096", "4096"),
        ("512.5", None),
        ("-1", None),
        ("-0", None),
        ('"0"', None),
        ("0", None),
        ("", None),
        ("null", None),
        ("no", None),
        ("18446744073709551616", None),
        ("[512]", None),
        ("{a: 1}", None),
        ("|-\n      5", "5"),
        ("!!int '5'", "5"),
    ],
)
def test_a_quantum_may_not_be_written_so(written: str, suggestion: str | None) -> None:
    reading = read_policy(with_quantum(written))
    (error,) = reading.errors
    assert error.path == "policy_classes[0].quantum"
    assert error.line == 10
    assert error.suggestion == suggestion
    assert error.allowed.startswith("a whole number from 1 to 18,446,744,073,709,551,615")


@pytest.mark.parametrize("written", ['"0"', "-0", "0_0", "0.0"])
def test_zero_is_suggested_only_where_it_is_allowed(written: str) -> None:
    assert read_policy(with_quantum(written)).errors[0].suggestion is None
    threshold = PREMIUM.replace("prefill_busy_threshold: 1536", f"prefill_busy_threshold: {written}", 1)
    assert read_policy(threshold).errors[0].suggestion == "0"


@pytest.mark.parametrize("written", ["0x0", "0x200", "0o0", "0b0"])
def test_a_number_in_other_digits_is_called_that_where_a_decimal_is_wanted(written: str) -> None:
    text = PREMIUM.replace("prefill_busy_threshold: 1536", f"prefill_busy_threshold_frac: {written}", 1)
    (error,) = read_policy(text).errors
    assert error.message == f"`{written}` is not written in decimal digits"


@pytest.mark.parametrize("written", ["", "null", "~", "Null", "NULL", "!!null ~", "&anchor"])
def test_null_in_an_optional_number_means_absent(written: str) -> None:
    reading = read_policy(PREMIUM.replace("prefill_busy_threshold: 1536", f"prefill_busy_threshold: {written}"))
    assert reading.document is not None
    assert reading.document.profile_for().classes[0].prefill_busy_threshold is None


@pytest.mark.parametrize("written", ["!!null 5", "!!null ''", "!anything ~", "'~'", "''"])
def test_what_only_looks_like_null_is_an_error(written: str) -> None:
    reading = read_policy(PREMIUM.replace("prefill_busy_threshold: 1536", f"prefill_busy_threshold: {written}", 1))
    assert [error.path for error in reading.errors] == ["policy_classes[0].prefill_busy_threshold"]


@pytest.mark.parametrize("name", ["no", "on", "1.5", "0x1F", "1e3", "null", "true", "2026-11-29", "-a", ".a"])
def test_a_name_keeps_its_written_form(name: str) -> None:
    reading = read_policy(PREMIUM.replace("name: regular", f"name: {name}"))
    assert reading.document is not None
    assert reading.document.profile_for().classes[1].name == name


@pytest.mark.parametrize("written", ["!wspt", "!!str wspt", "'wspt'", "|-\n      wspt", "!wspt ~"])
def test_the_queue_policy_may_be_written_so(written: str) -> None:
    reading = read_policy(PREMIUM.replace("queue_policy: fcfs", f"queue_policy: {written}"))
    assert reading.document is not None
    assert {each.queue_policy for each in reading.document.profile_for().classes} == {"wspt"}


@pytest.mark.parametrize(
    "written", ["WSPT", "lcfs", "!lcfs", "", "~", "true", "[wspt]", "{wspt: }", "! wspt", "!wspt x"]
)
def test_the_queue_policy_may_not_be_written_so(written: str) -> None:
    reading = read_policy(PREMIUM.replace("queue_policy: fcfs", f"queue_policy: {written}", 1))
    assert [error.path for error in reading.errors] == ["policy_classes[0].queue_policy"]
    assert "`fcfs`, `wspt`" in reading.errors[0].allowed
