"""The sample policies that come with the product."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
# In the repository the samples are next to the package; an installed wheel carries them inside.
_FOLDERS = (_PACKAGE.parent / "sample_policies", _PACKAGE / "_app" / "sample_policies")


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample policy: ``name`` is its file without the suffix, ``summary`` one sentence about it."""

    name: str
    title: str
    summary: str

    @property
    def path(self) -> Path:
        """The file; raises :class:`FileNotFoundError` where the samples were left out of an installation."""
        candidates = [folder / f"{self.name}.yaml" for folder in _FOLDERS]
        for path in candidates:
            if path.is_file():
                return path
        raise FileNotFoundError(f"the sample policy {self.name} is not at {candidates[0]} or {candidates[1]}")

    def text(self) -> str:
        """The YAML text as it is on disk."""
        return self.path.read_text(encoding="utf-8")


SAMPLES = (
    Sample("premium_4_to_1", "Premium 4 : 1", "Premium traffic gets four times the tokens of regular while both wait."),
    Sample("equal_share", "Equal share", "The same two classes with equal quanta, to compare 4 : 1 with."),
    Sample("cached_uncached", "Cached / uncached", "Requests that are mostly cached go ahead of those that are not."),
    Sample(
        "five_classes_models",
        "Five classes and models",
        "Two families by two length buckets, an explicit batch class, and one model with a profile of its own.",
    ),
)


def sample(name: str) -> Sample:
    """The sample called ``name``; raises :class:`KeyError` for any other name."""
    for each in SAMPLES:
        if each.name == name:
            return each
    raise KeyError(f"there is no sample policy {name!r}; there are: {', '.join(each.name for each in SAMPLES)}")
