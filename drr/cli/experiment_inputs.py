"""The arguments of verbs that take a whole experiment: a scenario, or a policy and a workload or trace."""

from __future__ import annotations

import argparse

from drr.analysis.sweep_base import Base
from drr.cli.inputs import engine_mapping, positive, ratio
from drr.workload.experiment import Experiment
from drr.workload.mapping import MAPPING_KINDS


def add_experiment_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument("--policy", metavar="FILE", help="policy file (YAML)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--trace", metavar="FILE", help="trace of any known format")
    what.add_argument("--workload", metavar="FILE", help="workload spec (YAML)")
    parser.add_argument("--scenario", metavar="NAME", help="a scenario of the library to start from")
    parser.add_argument(
        "--classes", choices=MAPPING_KINDS, default="as_written", help="how the rows of a trace get their classes"
    )
    parser.add_argument("--model", metavar="NAME", help="model whose profile counts; without it the root profile")
    parser.add_argument("--workers", type=positive, metavar="N", help="number of equal workers")
    parser.add_argument("--engine", action="append", default=[], metavar="KEY=VALUE", help="mock engine option")
    parser.add_argument("--speedup", type=ratio, metavar="X", help="arrival speed-up")


def experiment_of(options: argparse.Namespace) -> Experiment:
    """The experiment; raises :class:`DrrError` with everything that is wrong."""
    others = {"model": options.model, "workers": options.workers, "arrival_speedup_ratio": options.speedup}
    return Base(
        scenario=options.scenario,
        policy=options.policy,
        workload=options.workload,
        trace=options.trace,
        class_mapping={"kind": options.classes} if options.trace else None,
        engine=engine_mapping(options.engine),
        others={name: value for name, value in others.items() if value is not None},
    ).experiment()
