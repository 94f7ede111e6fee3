"""Ten short lessons: each a prepared run, at most 120 words, and one question that the engine answers.

The answer is nowhere written down: :mod:`drr.analysis.answers` takes it from the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drr.errors import WorkloadError
from drr.scheduler.ring import CursorRule
from drr.simulation.manual import Capacity
from drr.workload import scenario_data as data
from drr.workload.experiment import Experiment, SpecWorkload, TypedWorkload

MOST_WORDS = 120

QuestionKind = Literal["class", "request", "deficit"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a lesson asks about one arbitration call (``call`` counts from 1, calls that let nothing go included).

    ``class``: which class is served next; ``request``: which request goes next; ``deficit``: what the deficit of
    ``policy_class`` is right after the call (tokens).
    """

    kind: QuestionKind
    call: int
    text: str
    policy_class: str = ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson: ``text`` is Markdown of at most :data:`MOST_WORDS` words, ``link`` its short name."""

    link: str
    title: str
    text: str
    experiment: Experiment
    question: Question


def _typed(text: str, *, capacity: Capacity = "open", workers: int = 1, rule: CursorRule = "documented") -> Experiment:
    return Experiment(policy_text="", workload=TypedWorkload(text, capacity), workers=workers, cursor_rule=rule)


_SIX_AT_ONCE = """\
streams:
  - header: premium
    requests: 3
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
  - header: regular
    requests: 3
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: 1
"""

LESSONS = (
    Lesson(
        "tokens",
        "Tokens, not requests",
        "The router shares out **tokens of prompt to compute**, not requests. A request costs its uncached "
        "tokens.\n\n"
        "Classes stand in a **ring**. When the ring comes to a class, the class is granted its **quantum**, here "
        "100 tokens for both. What is granted and not yet spent is its **deficit**.\n\n"
        "`chat` sends prompts of 25 tokens, `report` prompts of 100. Equal quanta mean equal tokens, so four "
        "requests of `chat` go for each one of `report`.\n\n"
        "Two requests are gone: one of `report`, one of `chat`. The cursor rests on `chat`, which has 75 tokens "
        "left.",
        _typed("report (100): 100 100 100\nchat (100): 25 25 25 25 25 25 25 25\n"),
        Question("class", 3, "Which class is served next?"),
    ),
    Lesson(
        "one-grant",
        "One quantum per round, not per request",
        "A class gets its quantum **once per ring round**, when the cursor comes to it and the deficit does not "
        "pay for the head. It does not get one per request.\n\n"
        "Here the quantum is 10 and each request of A costs 3. A was granted 10 and paid 3: 7 left. The next head"
        " costs 3, so the cursor **stayed**, A paid 3 without a new grant, and has 4 left.\n\n"
        "Granting a quantum for every request is the most common mistake in home-made DRR: a class with small "
        "requests then runs away from all the others.",
        _typed("A (10): 3 3 3 3\nB (10): 10\n"),
        Question("deficit", 3, "A sends its third request. What is A's deficit then?", "A"),
    ),
    Lesson(
        "leftover",
        "What is left over stays",
        "When the deficit does not pay for the next head, the cursor moves on, and **the rest stays** with the "
        "class. In the next round the quantum comes on top.\n\n"
        "That makes DRR fair with requests of any size: what a class cannot spend now, it spends later.\n\n"
        "A was granted 60, paid 25 and kept 35, because its next request costs 45. Then B and C had their turns. "
        "Now the ring is back at A.",
        _typed(data.LECTURE),
        Question("deficit", 6, "A sends its request of 45. What is A's deficit then?", "A"),
    ),
    Lesson(
        "oversized",
        "Heads larger than any quantum",
        "`standard` has a quantum of 1,000 and a prompt of 7,000 tokens, `latency` 2,000 and 9,000. After one "
        "round nobody can pay.\n\n"
        "The router does not walk round and round. It works out how many more rounds each class needs, **cost "
        "minus deficit, divided by quantum, rounded up**, takes the smallest number, and grants so many **virtual"
        " rounds at once to everybody**. Then the first in the ring that can pay goes.\n\n"
        "After the first round `standard` has 1,000 and needs 6 more. What does `latency` need?",
        _typed(data.OVERSIZED),
        Question("class", 1, "Which class is served first?"),
    ),
    Lesson(
        "empty-blocked",
        "Empty loses, blocked keeps",
        "A class with **nothing waiting** loses its deficit: nobody saves up while away. C sent its only request "
        "and dropped the 30 tokens it had left.\n\n"
        "A class whose requests wait for a **busy worker** is blocked. It keeps its deficit and is granted "
        "nothing.\n\n"
        "All requests of A are pinned to worker 0, which is busy with A1. A was granted 100 and paid 60. "
        "Meanwhile B and C send to worker 1, and B is about to go again.",
        _typed(
            "A (100): 60>0 60>0 30>0\nB (100): 100>1 100>1 100>1 100>1\nC (50): 20>1\n* finish 1 @2\n* finish 1 @3\n",
            capacity="one",
            workers=2,
        ),
        Question("deficit", 7, "B sends once more. What is A's deficit then?", "A"),
    ),
    Lesson(
        "lanes",
        "Lanes: who waits behind whom",
        "A class keeps its requests in **lanes**: one shared lane for requests that any worker may serve, and one"
        " lane per worker for requests that must go there.\n\n"
        "Only the **head** of a lane may go, and nothing overtakes inside a lane. But a blocked lane does not "
        "stop the other lanes of its class.\n\n"
        "Worker 0 is busy with A1. A2 and A3 must go to worker 0, A4 and A5 may go anywhere, and worker 1 is "
        "free.",
        _typed("A (100): 50>0 50>0 50>0 30 20\n", capacity="one", workers=2),
        Question("request", 2, "Which request goes next?"),
    ),
    Lesson(
        "order",
        "Inside a class: FCFS or WSPT",
        "The quantum decides **between** classes. Inside a class its `queue_policy` decides who is head of a "
        "lane:\n\n"
        "- `fcfs`: who came first,\n- `wspt`: who costs least.\n\n"
        "`wspt` makes most requests wait less, and large ones may wait for ever, as long as smaller ones keep "
        "coming.\n\n"
        "Both classes hold requests of 60, 20 and 40 tokens, in this order of arrival. `chat` is `fcfs` and has "
        "sent its first two. `mail` is `wspt` and is next in the ring.",
        _typed("chat (100): 60 20 40\nmail (100 wspt): 60 20 40\n"),
        Question("request", 3, "Which request goes next?"),
    ),
    Lesson(
        "priority",
        "Strict priority and priority jump",
        "Two hints of a request change its place **inside its class**, never between classes.\n\n"
        "**Strict priority** comes before everything: a higher tier goes first, and nothing makes up for it. A "
        "**priority jump** is milder: under `fcfs` a jump of 3 seconds lets a request pass those that came up to "
        "3 seconds earlier.\n\n"
        "A1 and A2 have neither. A3 has strict priority 1 and is gone already. A4 has a jump of 3 seconds. All "
        "came at the same moment. B waits its turn, whatever A's hints say.",
        _typed("A (200): 40 40 40!1 40^3\nB (100): 50\n"),
        Question("request", 2, "Which request goes next?"),
    ),
    Lesson(
        "thresholds",
        "When does anybody wait at all?",
        "A request waits only if its class has a **busy threshold** and all its workers are busy. A worker is "
        "busy when its prefill tokens in progress are **above** the threshold.\n\n"
        "Otherwise the request goes **at once**, outside ring and deficits, and quanta decide nothing. A class "
        "without a threshold never waits.\n\n"
        "Here the threshold is 1,536. Six requests of 512 tokens came at the same moment to one worker. Four went at "
        "once, and it held 2,048; the other two wait. Now the first prompt is done, and the worker holds 1,536: "
        "exactly the threshold.",
        Experiment(
            policy_text=data.PREMIUM,
            workload=SpecWorkload(_SIX_AT_ONCE),
            engine=data.FOUR_SEQUENCES,
        ),
        Question("class", 1, "Which class is served by the call that follows?"),
    ),
    Lesson(
        "rules",
        "Why 1,000 : 100 can mean 1 : 1",
        "By the documentation the cursor **stays** on a class that can pay for its next head. The shipped router "
        "moves on, and only **carries** the winner: the next call looks at it first, and forgets it if it is "
        "blocked.\n\n"
        "Where one request at a time finds room, the call after each dispatch finds the worker full. So the carry"
        " is lost every time, and each class sends one request per round, whatever its quantum.\n\n"
        "Here the shipped rule (`carry`) is in force. A has 950 tokens left and requests of 50. The worker took "
        "A1, was full, and is free again.",
        _typed("A (1000): 50 50 50 50 50 50 50 50\nB (100): 50 50 50 50 50 50 50 50\n", capacity="one", rule="carry"),
        Question("class", 3, "Which class is served next?"),
    ),
)


def lesson(link: str) -> Lesson:
    """The lesson of a link: its number from 1, or its short name; raises :class:`WorkloadError` for another."""
    for number, each in enumerate(LESSONS, start=1):
        if link in (str(number), each.link):
            return each
    raise WorkloadError(f"there is no lesson {link!r}; there are 1 to {len(LESSONS)}")
