"""The experiment a sweep or a search starts from, put together from files and numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drr.errors import DrrError, PolicyError, WorkloadError
from drr.policy.reading import load_policy
from drr.policy.source_text import readable_text
from drr.simulation.engine_options import EngineOptions
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload, Workload
from drr.workload.mapping import ClassMapping
from drr.workload.scenarios import scenario
from drr.workload.spec_reading import load_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What makes up an experiment; what is None stays as the scenario has it, or at its default.

    ``policy`` and ``workload`` are files; ``policy_text`` and ``workload_text`` stand in their place; ``trace`` is a
    trace file of any known format with its class mapping. Files are looked for from ``folder``.
    """

    folder: Path = Path()
    scenario: str | None = None
    policy: str | None = None
    policy_text: str | None = None
    workload: str | None = None
    workload_text: str | None = None
    trace: str | None = None
    class_mapping: Mapping[str, object] | None = None
    engine: Mapping[str, object] | None = None
    others: Mapping[str, Any] | None = None
    """Further fields of :class:`Experiment` by their names."""

    def experiment(self) -> Experiment:
        """The experiment; raises :class:`DrrError` with everything that is wrong with a file."""
        start = None if self.scenario is None else scenario(self.scenario).experiment
        policy, workload = self._policy(), self._workload()
        if workload is None and start is None:
            raise WorkloadError("there is nothing to run: name a workload, a trace or a scenario")
        made = Experiment(policy_text="", workload=workload) if start is None else start  # type: ignore[arg-type]
        if workload is not None:
            made = replace(made, workload=workload)
        if policy is not None:
            made = replace(made, policy_text=policy)
        if self.engine:
            values = EngineOptions.from_mapping(self.engine)
            made = replace(made, engine=replace(made.engine, **{name: getattr(values, name) for name in self.engine}))
        made = replace(made, **(self.others or {}))
        made.profile()
        return made

    def _policy(self) -> str | None:
        if self.policy is None:
            return self.policy_text
        text = _read(self.folder / self.policy, PolicyError, "policy")
        load_policy(text, source=self.policy)
        clean, _ = readable_text(text)
        return clean

    def _workload(self) -> Workload | None:
        if self.trace is not None:
            path = self.folder / self.trace
            digest = hashlib.sha256(_read(path, WorkloadError, "trace")).hexdigest()
            mapping = ClassMapping.from_mapping(self.class_mapping or {})
            return TraceWorkload(path.name, digest, mapping, path=str(path.resolve()))
        if self.workload is None and self.workload_text is None:
            return None
        source = self.workload or "workload"
        data = (
            _read(self.folder / self.workload, WorkloadError, "workload")
            if self.workload
            else (self.workload_text or "").encode()
        )
        load_spec(data, source=source)
        clean, _ = readable_text(data)
        return SpecWorkload(clean or "")


def _read(path: Path, error: type[DrrError], what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise error(f"cannot read the {what} {path}: {problem.strerror or problem}") from None
    except ValueError:  # a NUL, or half a surrogate pair
        raise error(f"cannot read the {what} {str(path)!r}: no file can have this name") from None
