"""The sample policies: valid, with thresholds everywhere, and found wherever the package is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drr.policy import load_policy, read_policy, samples
from drr.policy.samples import SAMPLES, Sample, sample
from tests.support import ROOT

BY_NAME = pytest.mark.parametrize("each", SAMPLES, ids=lambda each: str(each.name))


def test_every_sample_on_disk_is_listed() -> None:
    assert {path.stem for path in (ROOT / "sample_policies").glob("*")} == {each.name for each in SAMPLES}


@BY_NAME
def test_a_sample_is_taken_by_the_router_and_lets_requests_wait(each: Sample) -> None:
    reading = read_policy(each.text())
    assert reading.router_accepts
    assert reading.document is not None
    profiles = [reading.document.profile_for(), *reading.document.models.values()]
    assert all(policy_class.has_threshold for profile in profiles for policy_class in profile.classes)
    assert each.title
    assert each.summary.endswith(".")


def test_the_reference_examples_are_as_documented() -> None:
    premium = load_policy(sample("premium_4_to_1").text()).profile_for()
    equal = load_policy(sample("equal_share").text()).profile_for()
    cached = load_policy(sample("cached_uncached").text()).profile_for()
    assert [(each.name, each.quantum, each.queue_policy) for each in premium.classes] == [
        ("premium", 512, "fcfs"),
        ("regular", 128, "fcfs"),
    ]
    assert [each.quantum for each in equal.classes] == [512, 512]
    assert {each.prefill_busy_threshold for each in premium.classes + equal.classes} == {1536}
    assert {each.request_queue_limit_per_worker for each in premium.classes + equal.classes} == {1024}
    assert [(each.name, each.quantum, each.queue_policy) for each in cached.classes] == [
        ("cached", 2048, "wspt"),
        ("uncached", 512, "fcfs"),
    ]
    assert [each.min_tokens for each in cached.buckets] == [0, 3072]


def test_five_classes_and_a_model() -> None:
    document = load_policy(sample("five_classes_models").text())
    assert len(document.profile_for().classes) == 5
    assert list(document.models) == ["example/large-model"]


def test_an_installed_package_carries_its_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = (tmp_path / "sample_policies", tmp_path / "drr/_app/sample_policies")
    monkeypatch.setattr(samples, "_FOLDERS", folders)
    with pytest.raises(FileNotFoundError, match="premium_4_to_1"):
        sample("premium_4_to_1").text()
    folders[1].mkdir(parents=True)
    (folders[1] / "premium_4_to_1.yaml").write_text("inside the wheel", encoding="utf-8")
    assert sample("premium_4_to_1").text() == "inside the wheel"


def test_an_unknown_sample_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="premium_4_to_1"):
        sample("gold")


def test_the_examples_of_the_reference_are_valid() -> None:
    text = (ROOT / "docs/policy-file.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        reading = read_policy(example)
        assert reading.router_accepts
        assert reading.diagnostics == ()
