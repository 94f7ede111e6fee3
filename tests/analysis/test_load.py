"""The sentence on what a workload asks of the workers counts in words."""

from __future__ import annotations

import pytest

from drr.analysis.load import OfferedLoad, load_sentence
from drr.simulation.engine_options import EngineOptions


@pytest.mark.parametrize(
    ("clients", "sends"), [(1, "1 client sends "), (2, "2 clients send "), (1_200, "1,200 clients")]
)
@pytest.mark.parametrize(("workers", "who"), [(1, " takes 1 worker at"), (2, " takes 2 workers at")])
def test_clients_and_workers_are_counted_in_words(clients: int, sends: str, workers: int, who: str) -> None:
    said = load_sentence(OfferedLoad(100, 51_200, 0.0, clients), EngineOptions(), workers=workers)
    assert said.startswith(sends)
    assert who in said
