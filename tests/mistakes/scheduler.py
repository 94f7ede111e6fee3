"""Mistakes in the ring and in the lanes."""

from __future__ import annotations

from tests.mistakes.mistake import GAPS, Mistake

EXAMPLES = "tests/scheduler/test_worked_examples.py"
ORACLE = "tests/scheduler/test_against_the_oracle.py"


def _ring(name: str, old: str, new: str, *more: tuple[str, str]) -> Mistake:
    return Mistake(name, "drr/scheduler/ring.py", ((old, new), *more), (GAPS, EXAMPLES, ORACLE))


def _lanes(name: str, old: str, new: str) -> Mistake:
    tests = ("tests/scheduler/test_lanes.py", "tests/scheduler/test_counting.py", ORACLE)
    return Mistake(name, "drr/scheduler/lanes.py", ((old, new),), tests)


RING = (
    _ring(
        "a head that costs exactly the kept deficit is not paid from it",
        "                    if cost <= deficits[index]:",
        "                    if cost < deficits[index]:",
    ),
    _ring(
        "a head that costs exactly deficit and quantum has to wait for bulk rounds",
        "rule = _GRANT_PAYS if cost <= deficits[index]",
        "rule = _GRANT_PAYS if cost < deficits[index]",
    ),
    # An empty class has no deficit when the scan passes, since the dispatch that emptied it took it: both at once.
    _ring(
        "an empty class keeps its deficit",
        "            left = 0\n",
        "            pass\n",
        ("                deficits[index] = 0\n                rule = _EMPTY", "                rule = _EMPTY"),
    ),
    _ring(
        "a blocked class is granted a quantum",
        "                    rule = _BLOCKED",
        "                    deficits[index] += quanta[index]\n                    rule = _BLOCKED",
    ),
    _ring(
        "a kept deficit is topped up although it pays",
        "                        rule = _KEPT_PAYS",
        "                        deficits[index] += quanta[index]\n                        rule = _KEPT_PAYS",
    ),
    _ring(
        "bulk rounds are rounded down",
        "min(-((deficits[i] - candidate[0][COST]) // quanta[i])",
        "min((candidate[0][COST] - deficits[i]) // quanta[i]",
    ),
    _ring("bulk rounds are one too many", "rounds = min(-((", "rounds = 1 + min(-(("),
    _ring("bulk rounds until the dearest can pay", "rounds = min(-((", "rounds = max(-(("),
    _ring(
        "bulk rounds for classes up to the winner only",
        "            deficits[index] += quanta[index] * rounds",
        "            deficits[index] += quanta[index] * rounds * (winner is None)",
    ),
    _ring(
        "bulk rounds for the winner only",
        "            deficits[index] += quanta[index] * rounds",
        "            if candidate[0][COST] <= deficits[index] + quanta[index] * rounds:\n"
        "                deficits[index] += quanta[index] * rounds",
    ),
    _ring(
        "after bulk rounds the first in file order goes, not the first in scan order",
        "for index, candidate in short:",
        "for index, candidate in sorted(short, key=lambda pair: pair[0]):",
    ),
    _ring(
        "the cursor stays on the winner whatever its next head costs",
        "if head is not None and head[COST] <= left:",
        "if head is not None:",
    ),
    _ring("the cursor never stays on the winner", "                after = index\n", "                pass\n"),
    _ring(
        "the cursor moves on though the next head costs exactly what is left",
        "if head is not None and head[COST] <= left:",
        "if head is not None and head[COST] < left:",
    ),
    _ring(
        "a next head that is blocked does not keep the cursor",
        "            head = queued.best_head()",
        "            found = queued.candidate()\n            head = None if found is None else found[0]",
    ),
    _ring(
        "the cursor stays on a class that was emptied",
        "            left = 0\n",
        "            left = 0\n            after = index\n",
    ),
    _ring("the scan begins with the first class of the file", "        index = self.cursor\n", "        index = 0\n"),
    _ring(
        "a carry outlives a call that finds the class blocked",
        "                log.heads.append(-1)\n            return self._scan(carried, None)",
        "                log.heads.append(-1)\n            self.carried = carried\n"
        "            return self._scan(carried, None)",
    ),
    _ring(
        "a carried class pays only with more than the head costs",
        "pays = entry[COST] <= self.deficits[carried]",
        "pays = entry[COST] < self.deficits[carried]",
    ),
    _ring(
        "a carried class that cannot pay stands first in the ring, not last",
        "                self.carried = index\n",
        "                self.carried = index\n                after = index\n",
    ),
    _ring("a class without deficit is carried", "            if left > 0:", "            if left >= 0:"),
    _ring(
        "a carried class that cannot pay is passed over by the scan",
        "candidate = queued.candidate() if index != known else known_candidate",
        "candidate = queued.candidate() if index != known else None",
    ),
    _ring(
        "the carry rule is the default", 'cursor_rule: CursorRule = "documented"', 'cursor_rule: CursorRule = "carry"'
    ),
)

LANES = (
    _lanes(
        "fcfs looks at age alone", "return max(priority_jump, 0.0) - max(arrival_s, 0.0)", "return -max(arrival_s, 0.0)"
    ),
    _lanes(
        "a negative priority jump sends a request back",
        "return max(priority_jump, 0.0) - max(arrival_s, 0.0)",
        "return priority_jump - max(arrival_s, 0.0)",
    ),
    _lanes(
        "wspt ignores the priority jump",
        "return (1.0 + max(priority_jump, 0.0)) / cost_tokens",
        "return 1.0 / cost_tokens",
    ),
    _lanes(
        "a blocked shared head stops the exact lanes of its class",
        "                self._shared_parked = True\n",
        "                self._shared_parked = True\n                return None\n",
    ),
    _lanes(
        "the shared head goes before a better exact head",
        "if rival is not None and rival < entry:",
        "if rival is not None:",
    ),
    _lanes(
        "a shared lane that was found blocked is asked again only with a new head",
        "        self._shared_parked = False\n        if endpoint in self._parked:",
        "        if endpoint in self._parked:",
    ),
    _lanes(
        "a better head does not wake its parked lane",
        "        self._parked.discard(endpoint)\n        self._heads.push(entry, endpoint)",
        "        self._heads.push(entry, endpoint)",
    ),
    _lanes(
        "the best head of a class is sought among those not known to be blocked",
        "for index, parked in ((self._heads, False), (self._parked_heads, True)):",
        "for index, parked in ((self._heads, False),):",
    ),
    _lanes(
        "what the next in an exact lane is, is forgotten",
        "            self._heads.push(lane[0], endpoint)\n        else:",
        "            pass\n        else:",
    ),
)
