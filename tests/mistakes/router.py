"""Mistakes in order, admission, and the choice of workers."""

from __future__ import annotations

from tests.mistakes.mistake import GAPS, RECORDINGS, Mistake

ROUTER = (GAPS, "tests/test_cases.py", "tests/router")
CACHES = (GAPS, RECORDINGS, "tests/simulation")


def _router(name: str, file: str, old: str, new: str, tests: tuple[str, ...] = ROUTER) -> Mistake:
    return Mistake(name, f"drr/router/{file}.py", ((old, new),), tests)


ORDER = (
    _router(
        "a higher strict priority goes later",
        "router",
        "entry = (-self._strict[request],",
        "entry = (self._strict[request],",
    ),
    _router(
        "wspt goes by raw tokens, cached ones included",
        "router",
        "wspt_score(jump, cost)",
        "wspt_score(jump, self.requests.isl_tokens[request])",
    ),
    _router(
        "of two equals the later goes first", "router", "        self._sequence += 1", "        self._sequence -= 1"
    ),
    _router(
        "fcfs takes a priority jump for milliseconds",
        "router",
        "fcfs_score(jump, now_ms / 1000.0)",
        "fcfs_score(jump, now_ms)",
        (*ROUTER, RECORDINGS),
    ),
)

ADMISSION = (
    _router(
        "one worker at its threshold is busy", "router", "return loads[0] > limits[0]", "return loads[0] >= limits[0]"
    ),
    _router(
        "workers at their thresholds are busy",
        "router",
        "sum(loads[e] > limits[e] for e in eligible)",
        "sum(loads[e] >= limits[e] for e in eligible)",
    ),
    _router(
        "a pinned worker at its threshold is busy",
        "router",
        "return self.endpoints.loads[endpoint] > self.endpoints.limits[class_index][endpoint]",
        "return self.endpoints.loads[endpoint] >= self.endpoints.limits[class_index][endpoint]",
    ),
    _router(
        "one busy worker makes a shared head wait",
        "endpoints",
        "eligible if busy_worker_ratio is None else",
        "1 if busy_worker_ratio is None else",
    ),
    _router(
        "a busy share that just reaches busy_worker_ratio lets heads go",
        "endpoints",
        "return busy_count >= (",
        "return busy_count > (",
    ),
    _router(
        "of two thresholds the fraction alone counts",
        "endpoints",
        "limit = min(limit, math.floor(scaled))",
        "limit = math.floor(scaled)",
    ),
    _router("a fraction of a token is rounded up", "endpoints", "math.floor(scaled)", "math.ceil(scaled)"),
    _router(
        "another class's backlog holds an arrival back",
        "router",
        "self._through_ring or self.lanes[index].size or",
        "self._through_ring or self.waiting or",
        (*ROUTER, RECORDINGS),
    ),
    _router(
        "an arrival overtakes its own class's backlog",
        "router",
        "self._through_ring or self.lanes[index].size or",
        "self._through_ring or",
        (*ROUTER, RECORDINGS),
    ),
    _router(
        "one dispatch per drain",
        "router",
        "        while self.waiting and not self._settled:",
        "        if self.waiting and not self._settled:",
    ),
    _router(
        "limits are looked at after the newcomer is counted",
        "router",
        "            refusal = self.limits.refusal(index, self.endpoints.discovered())\n",
        "            isl_tokens, hit = self.requests.isl_tokens[request], outcomes.cached_tokens[request]\n"
        "            self.limits.add(index, isl_tokens, hit)\n"
        "            refusal = self.limits.refusal(index, self.endpoints.discovered())\n"
        "            self.limits.add(index, isl_tokens, hit, -1)\n",
    ),
    _router(
        "a class that reached its limit takes one more",
        "admission",
        "current >= value * endpoints",
        "current > value * endpoints",
    ),
    _router(
        "a limit is not multiplied by the endpoints", "admission", "current >= value * endpoints", "current >= value"
    ),
    _router(
        "an overloaded endpoint does not count for limits",
        "endpoints",
        "return sum(self.present)",
        "return sum(p and not o for p, o in zip(self.present, self.overloaded, strict=True))",
    ),
    _router(
        "a dispatch does not make room below the limit",
        "router",
        "self.outcomes.cached_tokens[request], -1)",
        "self.outcomes.cached_tokens[request], 0)",
    ),
)

CHOICE = (
    _router(
        "the cache overlap is looked up at dispatch, not frozen at arrival",
        "router",
        "        elif request in self._overlaps:\n"
        "            load -= min(isl, self._block_size * self._overlaps.pop(request)[endpoint])",
        "        elif self.cached_blocks and self.chains is not None:\n"
        "            load -= min(isl, self._block_size * leading(self.chains[request], self.cached_blocks[endpoint]))",
        CACHES,
    ),
    _router(
        "cached tokens count as prefill load",
        "router",
        "            load -= min(isl, ",
        "            load -= 0 * min(isl, ",
        CACHES,
    ),
    _router(
        "the class goes by the first worker's cache, not the best",
        "router",
        "max(overlaps[e] for e in eligible)",
        "overlaps[eligible[0]]",
        CACHES,
    ),
    _router(
        "the worker choice counts whole blocks of load",
        "selection",
        "(loads[endpoint] + isl_tokens) / self._block_size",
        "(loads[endpoint] + isl_tokens) // self._block_size",
        CACHES,
    ),
    _router(
        "the worker choice forgets blocks that are active already",
        "selection",
        "(len(active) + len(chain) - leading(chain, active))",
        "(len(active) + len(chain))",
        CACHES,
    ),
    _router(
        "the worker choice forgets what workers hold",
        "selection",
        "            cost = prefill + (len(active) + len(chain) - leading(chain, active))",
        "            cost = prefill",
        CACHES,
    ),
    _router(
        "equal blocks behind different ones are the same block",
        "prefix",
        "key = (parent, content)",
        "key = (block, content)",
        CACHES,
    ),
)
