"""Which class a request belongs to, and which profile serves a model."""

from __future__ import annotations

import pytest

from drr.errors import UnknownModelError
from drr.policy import load_policy, synthetic_profile
from drr.policy.samples import sample
from tests.policy.texts import CACHED, PREMIUM, PROFILE

FIVE = load_policy(sample("five_classes_models").text())


@pytest.mark.parametrize(
    ("header", "uncached_tokens", "name"),
    [
        ("interactive", 0, "interactive-short"),
        ("interactive", 2047, "interactive-short"),
        ("interactive", 2048, "interactive-long"),
        ("standard", 10**30, "standard-long"),
        (None, 5, "standard-short"),
        ("", 5, "standard-short"),
        ("Interactive", 5, "standard-short"),
        ("interactive-long", 5, "standard-short"),
        ("batch", 5, "batch"),
        ("batch", 5000, "batch"),
    ],
)
def test_a_request_finds_its_class(header: str | None, uncached_tokens: int, name: str) -> None:
    profile = FIVE.profile_for()
    assert profile.classes[profile.class_index(header, uncached_tokens)].name == name


def test_the_floor_of_a_bucket_belongs_to_it() -> None:
    profile = load_policy(CACHED).profile_for()
    assert [profile.class_index(None, tokens) for tokens in (0, 3071, 3072, 3073)] == [0, 0, 1, 1]


def test_the_synthetic_profile_has_one_class_for_everything() -> None:
    profile = synthetic_profile(0.5)
    assert [(each.name, each.quantum, each.prefill_busy_threshold_frac) for each in profile.classes] == [
        ("default", 1, 0.5)
    ]
    assert {profile.class_index(header, tokens) for header in (None, "default", "x") for tokens in (0, 9)} == {0}


def test_a_model_has_its_own_profile_else_the_root_else_the_synthetic_one() -> None:
    large = FIVE.profile_for("example/large-model")
    assert [each.name for each in large.classes] == ["all"]
    assert FIVE.profile_for("example/other") is FIVE.root
    assert FIVE.profile_for() is FIVE.root
    models_only = load_policy(f"models: {{m: {PROFILE}}}\n")
    assert models_only.profile_for("m").classes[0].quantum == 5
    assert models_only.profile_for("other") == synthetic_profile()
    assert models_only.profile_for() == synthetic_profile()


def test_asking_strictly_for_an_unknown_model_names_the_known_ones() -> None:
    with pytest.raises(UnknownModelError, match="it names: example/large-model"):
        FIVE.profile_for("nope", strict=True)
    with pytest.raises(UnknownModelError, match="it names: none"):
        load_policy(PREMIUM).profile_for("nope", strict=True)
