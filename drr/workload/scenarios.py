"""The scenario library: workloads people recognise, each with what to watch in it.

A scenario is an experiment with a name. Those on typed queues are small enough to step through; the others run on the
mock engine and take less than two seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from drr.errors import WorkloadError
from drr.simulation.recording import Run
from drr.workload import scenario_data as data
from drr.workload.experiment import Experiment, SpecWorkload, TypedWorkload


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named experiment. ``watch`` is two sentences: what there is to see, and why it is so."""

    name: str
    title: str
    watch: str
    experiment: Experiment

    @property
    def is_typed(self) -> bool:
        """Whether it is stepped through on the manual worker model, not run on the mock engine."""
        return isinstance(self.experiment.workload, TypedWorkload)


SCENARIOS = (
    Scenario(
        "lecture",
        "Three flows of the textbook",
        "Each class spends its quantum of 60 on as many heads as it pays for: A1, then B1, then three of C. "
        "What A and B have left over stays their deficit, so A sends two in the second round.",
        Experiment(policy_text="", workload=TypedWorkload(data.LECTURE)),
    ),
    Scenario(
        "premium_burst",
        "Premium burst, 4 : 1",
        "Of the first 320 completions premium has 255 and regular 65: while both wait, they share the worker 4 : 1. "
        "Over the whole run it is 320 : 320, because what was not served first is served later.",
        Experiment(policy_text=data.PREMIUM, workload=SpecWorkload(data.BURST), engine=data.FOUR_SEQUENCES),
    ),
    Scenario(
        "equal_control",
        "The same burst with equal quanta",
        "The same requests with 512 for both: of the first 320 completions each class has 160. "
        "Regular gets its half although premium's requests were just as many and just as early.",
        Experiment(policy_text=data.EQUAL, workload=SpecWorkload(data.BURST), engine=data.FOUR_SEQUENCES),
    ),
    Scenario(
        "spike",
        "A premium spike that subsides",
        "From second 2 premium asks for more than the worker can do; regular falls to a fifth, but never to nothing. "
        "When the last premium request is out, regular has the whole worker again and works off what piled up.",
        Experiment(policy_text=data.PREMIUM, workload=SpecWorkload(data.SPIKE), engine=data.FOUR_SEQUENCES),
    ),
    Scenario(
        "oversized_head",
        "Heads far larger than the quanta",
        "Nobody can pay in the first ring round, so four virtual rounds are granted at once and latency goes first. "
        "Both classes get the four rounds, and standard keeps its 5,000 tokens for the next call.",
        Experiment(policy_text="", workload=TypedWorkload(data.OVERSIZED)),
    ),
    Scenario(
        "hot_worker",
        "A hot worker and the lane behind it",
        "Requests pinned to worker 0 pile up in its exact-worker lane, where a short one stands behind every long one "
        "before it. Requests of the same class that any worker may serve go past them to worker 1 without waiting.",
        Experiment(policy_text=data.CHAT, workload=SpecWorkload(data.HOT), workers=2, engine=data.NO_CACHING),
    ),
    Scenario(
        "blocked_keeps",
        "A blocked class keeps its deficit",
        "A waits for worker 0 while B sends three more to worker 1, and all the time A's deficit stays at 40 tokens. "
        "When worker 0 is free again, A pays with it; its last request goes without a new quantum.",
        Experiment(policy_text="", workload=TypedWorkload(data.BLOCKED, "one"), workers=2),
    ),
    Scenario(
        "empty_loses",
        "An empty class loses its deficit",
        "After A1 nothing of A waits, so its 90 left-over tokens are gone. "
        "A2 has to be paid from new quanta and goes after B2, not third as it would with the 90.",
        Experiment(policy_text="", workload=TypedWorkload(data.EMPTY)),
    ),
    Scenario(
        "wspt_starves",
        "WSPT starves the large prompts",
        "Six large prompts come first, but five of them wait until the stream of small ones dries up. "
        "With wspt the cheapest head always goes first, and there is always a cheaper one than theirs.",
        Experiment(policy_text=data.CHAT_WSPT, workload=SpecWorkload(data.LARGE_FIRST), engine=data.FOUR_SEQUENCES),
    ),
    Scenario(
        "strict_starves",
        "Strict priority starves the rest",
        "Thirty ordinary requests come first; after the first four none of them is served until the urgent ones stop. "
        "Strict priority decides inside a lane before anything else does, and no quantum makes up for it.",
        Experiment(policy_text=data.CHAT, workload=SpecWorkload(data.URGENT), engine=data.FOUR_SEQUENCES),
    ),
    Scenario(
        "quanta_above_costs",
        "Quanta far above the costs, shipped router",
        "The quanta ask for 4 : 1 and both classes get the same: requests cost 64 tokens, quanta are 2,048 and 512. "
        "Where one request is let go at a time, the shipped router serves a class at most one request per ring round.",
        Experiment(
            policy_text=data.LARGE_QUANTA,
            workload=SpecWorkload(data.SMALL_BURST),
            engine=data.ONE_SEQUENCE,
            cursor_rule="carry",
        ),
    ),
    Scenario(
        "refusal_storm",
        "A refusal storm at a limit",
        "Premium may have 16 requests waiting per worker, so with two workers 32 wait and the rest of the burst is "
        "refused with HTTP 529. Regular has no limit: all of it waits, and in the end all of it is served.",
        Experiment(policy_text=data.LIMITED, workload=SpecWorkload(data.STORM), workers=2, engine=data.FOUR_SEQUENCES),
    ),
    Scenario(
        "cache_flips",
        "A cache hit flips the class",
        "Equal prompts start in class uncached and are of class cached as soon as a worker holds their common prefix. "
        "In the pause a flood of other prompts evicts the prefix, so the next one is uncached again.",
        Experiment(policy_text=data.CACHED, workload=SpecWorkload(data.FLOOD), engine=data.SMALL_CACHE),
    ),
    Scenario(
        "join_leave",
        "A worker joins, another one leaves",
        "Worker 1 joins after three dispatches and takes one at once; worker 0 leaves after six and gets no more. "
        "B4, pinned to worker 0, is let go all the same and ends in an error, charged like any dispatch.",
        Experiment(policy_text="", workload=TypedWorkload(data.JOIN_LEAVE, "one")),
    ),
    Scenario(
        "large_cluster",
        "64 workers and 14 classes",
        "Seven families by two cache buckets share 64 workers; after the first second requests of every class wait. "
        "While all fourteen wait, each gets tokens in proportion to its quantum: red eight times those of indigo.",
        Experiment(
            policy_text=data.FOURTEEN, workload=SpecWorkload(data.SEVEN_TENANTS), workers=64, engine=data.NO_CACHING
        ),
    ),
)


def scenario(name: str) -> Scenario:
    """The scenario called ``name``; raises :class:`WorkloadError` for any other name."""
    for each in SCENARIOS:
        if each.name == name:
            return each
    raise WorkloadError(f"there is no scenario {name!r}; there are {', '.join(each.name for each in SCENARIOS)}")


def build(scenario: Scenario) -> Run:
    """Run a scenario."""
    return scenario.experiment.run()
