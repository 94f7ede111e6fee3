"""From a text to a document: everything a policy may not say, all of it at once, each with its place."""

from __future__ import annotations

import pytest

from drr.errors import PolicyError
from drr.policy import Diagnostic, PolicyReading, load_policy, read_policy
from drr.policy.fields import MAX_PROBLEMS
from tests.policy.texts import CACHED, PREMIUM, PROFILE, with_line, with_quantum


def only_error(text: str | bytes) -> Diagnostic:
    reading = read_policy(text)
    assert reading.document is None
    (error,) = reading.errors
    return error


def paths(reading: PolicyReading) -> list[str]:
    return [error.path for error in reading.errors]


def test_a_valid_file_gives_classes_in_file_order() -> None:
    profile = load_policy(PREMIUM).profile_for()
    assert [each.name for each in profile.classes] == ["premium", "regular"]
    assert [each.quantum for each in profile.classes] == [512, 128]
    assert profile.default_policy_family == "regular"
    assert profile.classes[0].prefill_busy_threshold == 1536
    assert profile.classes[0].request_queue_limit_per_worker == 1024


def test_a_key_given_twice_is_refused_with_both_lines() -> None:
    error = only_error(PREMIUM.replace("    quantum: 512\n", "    quantum: 512\n    quantum: 128\n"))
    assert error.path == "policy_classes[0].quantum"
    assert error.line == 11
    assert "on line 10 and on line 11" in error.message
    again = only_error(PREMIUM + "policy_classes:\n  - {name: x, quantum: 1}\n")
    assert again.path == "policy_classes"
    assert "on line 5 and on line 20" in again.message


def test_a_file_of_two_documents_and_one_of_none_get_a_plain_sentence() -> None:
    assert "second document" in only_error(f"{PREMIUM}---\n{with_quantum('64')}").message
    assert load_policy(f"---\n{PREMIUM}...\n") == load_policy(PREMIUM)
    for text in ("", "# nothing\n", "{}\n", "models: {}\n", "router: ~\n", "models:\n"):
        assert "the policy is empty" in only_error(text).message
    assert only_error("- name: a\n").message == "the top level must be a mapping, but a list stands here"
    assert only_error("hello").message == 'the top level must be a mapping, but the text "hello" stands here'
    assert "null" not in only_error("''").message


def test_files_from_windows() -> None:
    with_mark = read_policy(PREMIUM.encode("utf-8-sig"))
    assert with_mark.document == load_policy(PREMIUM)
    assert not with_mark.router_accepts
    assert [each.severity for each in with_mark.diagnostics] == ["warning"]
    assert load_policy(PREMIUM.replace("\n", "\r\n")) == load_policy(PREMIUM)
    assert "UTF-16" in only_error(PREMIUM.encode("utf-16")).message
    latin = only_error((PREMIUM + "# priorité\n").encode("latin-1"))
    assert (latin.line, latin.column) == (20, 10)
    assert "not UTF-8 text" in latin.message
    nul = only_error(PREMIUM.replace("name: premium", "name: pre\0mium"))
    assert (nul.line, nul.column) == (6, 14)
    assert "NUL" in nul.message
    assert only_error("a: \ud800").line == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"a: \xe9\n", "not UTF-8 text: byte 0xE9 is not valid here (perhaps it is Latin-1 or Windows-1252)"),
        (b"a: \xed\xa0\x80\n", "not UTF-8 text: byte 0xED is not valid here (perhaps"),
        ("a: \x00\n", "a NUL character stands here"),
        ("a: \x1b\n", "the control character U+001B stands here"),
        ("a: \x9f\n", "the control character U+009F stands here"),
        ("a: \ud800\n", "the character U+D800 stands here"),
        ("a: \ufffe\n", "the character U+FFFE stands here"),
        ("a: \uffff\n", "the character U+FFFF stands here"),
    ],
)
def test_what_is_no_plain_text_is_called_by_its_name(text: str | bytes, words: str) -> None:
    error = only_error(text)
    assert words in error.message
    assert (error.line, error.column) == (1, 4)


def replaced(old: str, new: str) -> str:
    assert old in CACHED
    return CACHED.replace(old, new)


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (
            CACHED[: CACHED.index("  - {name: uncached")],
            "policy_classes[0].policy_family",
            "no class for bucket `uncached`",
        ),
        (
            replaced("cache_bucket: uncached", "cache_bucket: cached"),
            "policy_classes[1]",
            'family "standard" has a class for bucket "cached" on line 6',
        ),
        (replaced("min_tokens: 0", "min_tokens: 1"), "uncached_isl_buckets[0].min_tokens", "starts at 1 tokens"),
        (replaced("min_tokens: 3072", "min_tokens: 0"), "uncached_isl_buckets[1].min_tokens", "0 is not above 0"),
        (
            replaced("bucket: uncached}", "bucket: cached}"),
            "uncached_isl_buckets[1].bucket",
            'another cache bucket "cached"',
        ),
        (replaced(", cache_bucket: uncached", ""), "policy_classes[1]", "has a `policy_family` but no `cache_bucket`"),
        (
            replaced("policy_family: standard, cache_bucket: uncached", "policy_family: ~, cache_bucket: uncached"),
            "policy_classes[1]",
            "has a `cache_bucket` but no `policy_family`",
        ),
        (CACHED + "  - {name: standard, quantum: 1}\n", "policy_classes[2].name", "the name of a policy family"),
        (
            replaced("cache_bucket: uncached", "cache_bucket: hot"),
            "policy_classes[1].cache_bucket",
            '"hot" is no cache bucket',
        ),
        (replaced("family: standard\n", "family: gold\n"), "default_policy_family", 'the family "gold"'),
        (
            replaced("prefill_busy_threshold_frac: 1.0}\n  -", "prefill_busy_treshold: 10}\n  -"),
            "policy_classes[0].prefill_busy_treshold",
            'does not know the key "prefill_busy_treshold"',
        ),
        (
            replaced("quantum: 512,", "quantum: 512, request_queue_limit: 5,"),
            "policy_classes[1].request_queue_limit",
            'does not know the key "request_queue_limit"',
        ),
        (replaced("name: uncached", "name: a/b"), "policy_classes[1].name", 'the name "a/b"'),
        (
            replaced("name: uncached", "name: cached"),
            "policy_classes[1].name",
            'another policy class "cached" on line 6',
        ),
        (
            "default_policy_family: a\n",
            "default_policy_family",
            "the root profile has `default_policy_family`, but not",
        ),
        (
            CACHED.replace("uncached_isl_buckets:\n", "uncached_isl_buckets: []\n_:\n").replace("_:", "models:"),
            "models",
            "must be a mapping",
        ),
    ],
)
def test_the_matrix_must_be_complete(text: str, path: str, words: str) -> None:
    reading = read_policy(text)
    assert path in paths(reading)
    assert words in next(error.message for error in reading.errors if error.path == path)


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        ("prefill_busy_treshold: 10", "prefill_busy_threshold"),
        ("request_queue_limit: 5", "request_queue_limit_per_worker"),
        ("weight: 5", "quantum"),
        ("queue-policy: fcfs", "queue_policy"),
        ("xyzzy: 5", None),
    ],
)
def test_a_misspelt_key_gets_a_suggestion(line: str, suggestion: str | None) -> None:
    assert only_error(with_line(line)).suggestion == suggestion


def test_a_misspelt_family_or_bucket_gets_a_suggestion() -> None:
    assert only_error(PREMIUM.replace("family: regular\nun", "family: reguler\nun")).suggestion == "regular"
    assert only_error(PREMIUM.replace("cache_bucket: all", "cache_bucket: al", 1)).suggestion == "all"


def test_a_misspelt_required_key_is_reported_once() -> None:
    error = only_error(PREMIUM.replace("quantum: 512", "Quantum: 512"))
    assert error.suggestion == "quantum"
    assert only_error(PREMIUM.replace("default_policy_family", "default_policy_famly")).line == 1


def test_merge_keys_are_unknown_and_do_not_drag_other_errors_along() -> None:
    text = PREMIUM.replace("  - name: premium", "  - &base\n    name: premium")
    error = only_error(text[: text.index("    policy_family: regular")] + "    <<: *base\n")
    assert "merge keys" in error.message


def test_all_problems_are_reported_at_once_in_file_order() -> None:
    text = (
        PREMIUM.replace("min_tokens: 0", "min_tokens: x")
        .replace("quantum: 512", "quantum: 0")
        .replace("queue_policy: fcfs", "queue_policy: lifo", 1)
        .replace("quantum: 128", "quantum: 128.5")
        + "extra: 1\n"
    )
    reading = read_policy(text)
    assert paths(reading) == [
        "uncached_isl_buckets[0].min_tokens",
        "policy_classes[0].queue_policy",
        "policy_classes[0].quantum",
        "policy_classes[1].quantum",
        "extra",
    ]
    assert [error.line for error in reading.errors] == [3, 9, 10, 17, 20]


def test_too_many_problems_end_with_a_word_about_the_rest() -> None:
    reading = read_policy(PREMIUM + "".join(f"key{index}: 1\n" for index in range(5000)))
    assert not reading.ok
    assert len(reading.errors) == MAX_PROBLEMS + 1
    assert "the rest of the file was not looked at" in reading.diagnostics[-1].message


def many_classes(count: int, line: str) -> str:
    return PREMIUM + "".join(f"  - {{name: c{index}, quantum: 5, {line}}}\n" for index in range(count))


def test_no_number_of_warnings_is_an_error_and_what_the_router_refuses_is_always_said() -> None:
    for count in (MAX_PROBLEMS - 1, MAX_PROBLEMS, 3 * MAX_PROBLEMS):
        reading = read_policy(many_classes(count, "prefill_busy_threshold: 5, busy_worker_ratio: 0.5"))
        assert reading.ok
        assert sum(each.router_refuses for each in reading.diagnostics) == count
    refused = PROFILE.replace("quantum: 5", "quantum: 5, busy_worker_ratio: 1")
    reading = read_policy("models:\n" + f"  m: {PROFILE}\n" * 200 + f"  m: {refused}\n")
    assert (reading.ok, reading.router_accepts) == (True, False)


@pytest.mark.parametrize("line", ["cache_bucket: ~", "prefill_busy_threshold: 5, request_queue_limit_per_worker: 0"])
@pytest.mark.parametrize("more", [0, 1, 50])
def test_many_other_warnings_end_with_their_number(line: str, more: int) -> None:
    reading = read_policy(many_classes(MAX_PROBLEMS + more, line))
    assert reading.ok
    assert [each.severity for each in reading.diagnostics].count("warning") == MAX_PROBLEMS
    notes = [each.message for each in reading.diagnostics if each.severity == "info"]
    assert notes == ([f"{more} more warning{' is' if more == 1 else 's are'} not listed"] if more else [])


def test_load_policy_raises_with_every_diagnostic() -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(with_quantum("x").replace("name: regular", "name: a b"), source="p.yaml")
    text = str(caught.value)
    assert text.startswith("p.yaml has 2 errors:\n")
    assert "p.yaml:10:14: error: policy_classes[0].quantum: " in text
    assert len(caught.value.diagnostics) == 2


def test_a_diagnostic_reads_well_and_goes_into_json() -> None:
    error = only_error(with_quantum('"512"'))
    assert error.text("p.yaml") == (
        'p.yaml:10:14: error: policy_classes[0].quantum: "512" is text because of its quotes; '
        "allowed: a whole number from 1 to 18,446,744,073,709,551,615, such as 512; did you mean `512`?"
    )
    assert error.text().startswith("line 10, column 14: error: ")
    assert error.as_dict() == {
        "severity": "error",
        "line": 10,
        "column": 14,
        "path": "policy_classes[0].quantum",
        "message": '"512" is text because of its quotes',
        "allowed": "a whole number from 1 to 18,446,744,073,709,551,615, such as 512",
        "suggestion": "512",
        "router_refuses": False,
    }


def test_positions_tell_where_a_value_can_be_replaced() -> None:
    position = read_policy(PREMIUM).positions["policy_classes[0].quantum"]
    line = PREMIUM.splitlines()[position.line - 1]
    assert position.line == position.end_line
    assert line[position.column - 1 : position.end_column - 1] == "512"


def test_busy_worker_ratio_is_simulated_with_a_warning() -> None:
    reading = read_policy(with_line("busy_worker_ratio: 0.5"))
    assert reading.document is not None
    assert reading.document.profile_for().classes[1].busy_worker_ratio == 0.5
    assert not reading.router_accepts
    (warning,) = [each for each in reading.diagnostics if each.router_refuses]
    assert (warning.line, warning.severity) == (20, "warning")
    assert "1.6.1" in warning.message


def test_the_router_stumbles_over_busy_worker_ratio_even_where_it_is_null() -> None:
    reading = read_policy(with_line("busy_worker_ratio: ~"))
    assert reading.document == load_policy(PREMIUM)
    assert not reading.router_accepts
    replaced_profile = PROFILE.replace("quantum: 5", "quantum: 5, busy_worker_ratio: 0.5")
    twice = read_policy(f"models:\n  m: {replaced_profile}\n  m: {PROFILE}\n")
    assert twice.document is not None
    assert twice.document.models["m"].classes[0].busy_worker_ratio is None
    assert not twice.router_accepts


@pytest.mark.parametrize("written", ["0", "1.5", "-0.1", ".inf", ".nan", "'0.5'", "x"])
def test_busy_worker_ratio_is_above_zero_and_at_most_one(written: str) -> None:
    assert only_error(with_line(f"busy_worker_ratio: {written}")).path == "policy_classes[1].busy_worker_ratio"


def test_busy_worker_ratio_needs_a_threshold() -> None:
    text = PREMIUM.replace("    prefill_busy_threshold: 1536\n", "").rstrip() + "\n    busy_worker_ratio: 1.0\n"
    assert "without a busy threshold" in only_error(text).message


def test_a_model_profile_stands_for_itself_and_the_last_of_a_name_counts() -> None:
    reading = read_policy(f"models:\n  m: {PROFILE.replace('quantum: 5', 'quantum: 0')}\n  m: {PROFILE}\n")
    assert reading.router_accepts
    assert reading.document is not None
    assert reading.document.models["m"].classes[0].quantum == 5
    assert [(each.severity, each.line) for each in reading.diagnostics] == [("warning", 2)]
    unreadable = read_policy(f"models:\n  m: {PROFILE.replace('quantum: 5', 'quantum: x')}\n  m: {PROFILE}\n")
    assert paths(unreadable) == ["models.m.policy_classes[0].quantum"]


@pytest.mark.parametrize(
    ("models", "path"),
    [
        (f"{{'': {PROFILE}}}", 'models[""]'),
        ("{a: ~}", "models.a"),
        ("{a: {}}", "models.a"),
        ("~", "models"),
        ("[a]", "models"),
        (f"{{[a]: {PROFILE}}}", "models"),
        (
            f"{{a: {PROFILE.replace('default_policy_family: a', 'default_policy_family: ~')}}}",
            "models.a.default_policy_family",
        ),
        (f"{{a b: {PROFILE.replace('quantum: 5', 'quantum: no')}}}", 'models["a b"].policy_classes[0].quantum'),
    ],
)
def test_a_model_profile_has_errors_of_its_own(models: str, path: str) -> None:
    assert only_error(f"models: {models}\n").path == path


def test_a_model_may_have_any_name_and_share_a_profile_by_alias() -> None:
    document = load_policy(f'models: {{org/model-7b: &p {PROFILE}, ~: *p, 1: *p, "a\\nb": *p}}\n')
    assert list(document.models) == ["org/model-7b", "~", "1", "a\nb"]
    assert document.root is None


@pytest.mark.parametrize(
    "section",
    [
        "router:",
        "router: {}",
        "router: {use_kv_events: true, router_ttl_secs: 60}",
        "worker_selection: {aggregated: default}",
        "worker_selection: {instances: [{name: a, type: x, parameters: {k: [1, .nan, ~], 1: 2}}], decode: a}",
        "worker_selection: ~",
        "request_classifier: {type: x, parameters: {a: !tag b}}",
        "request_classifier:",
    ],
)
def test_sections_are_kept_and_reported_as_not_simulated(section: str) -> None:
    reading = read_policy(f"{PREMIUM}{section}\n")
    name = section.split(":")[0]
    assert reading.router_accepts
    assert reading.document is not None
    absent = section.endswith((":", "~"))
    assert (name in reading.document.sections) is not absent
    infos = [each for each in reading.diagnostics if each.severity == "info"]
    assert [each.path for each in infos] == ([] if absent else [name])
    assert absent or "not simulated" in infos[0].message


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ("router: 5", "router"),
        ("router: {[a]: b}", "router"),
        ("worker_selection: {}", "worker_selection"),
        ("worker_selection: {aggregated: x}", "worker_selection.aggregated"),
        ("worker_selection: {instances: [{name: a}]}", "worker_selection.instances[0]"),
        ("worker_selection: {instances: [{name: default, type: x}]}", "worker_selection.instances[0]"),
        ("worker_selection: {instances: [{name: a, type: x}, {name: a, type: y}]}", "worker_selection.instances[1]"),
        ("worker_selection: {instances: ~}", "worker_selection.instances"),
        ("worker_selection: {pick: x}", "worker_selection.pick"),
        ("request_classifier: {}", "request_classifier"),
        ("request_classifier: {type: default}", "request_classifier.type"),
        ("request_classifier: {type: a b}", "request_classifier.type"),
        ("request_classifier: {type: x, parameters: 5}", "request_classifier.parameters"),
        ("request_classifier: {type: x, parameters: {a: 1, 'a': 2}}", "request_classifier.parameters.a"),
        ("request_classifier: {type: x, parameters: {a: !!int x}}", "request_classifier.parameters.a"),
        ("request_classifier: {type: x, parameters: {a: 99999999999999999999}}", "request_classifier.parameters.a"),
    ],
)
def test_sections_are_checked_as_the_router_does(section: str, path: str) -> None:
    assert path in paths(read_policy(f"{PREMIUM}{section}\n"))


def test_router_settings_that_release_1_6_1_refuses_are_a_warning() -> None:
    reading = read_policy(PREMIUM + "router: {use_kv_event: true, router_ttl_secs: soon}\n")
    assert reading.ok
    assert not reading.router_accepts
    unknown, unfit = [each for each in reading.diagnostics if each.router_refuses]
    assert (unknown.path, unknown.suggestion) == ("router.use_kv_event", "use_kv_events")
    assert (unfit.path, unfit.allowed) == ("router.router_ttl_secs", "a number")
