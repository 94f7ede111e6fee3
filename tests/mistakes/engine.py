"""Mistakes in the mock engine, its KV pool, its timing, and the order of events."""

from __future__ import annotations

from tests.mistakes.mistake import GAPS, RECORDINGS, Mistake


def _engine(name: str, file: str, old: str, new: str, *more: tuple[str, str]) -> Mistake:
    return Mistake(name, f"drr/simulation/{file}.py", ((old, new), *more), (GAPS, RECORDINGS, "tests/simulation"))


TIMING = (
    _engine(
        "prefill time goes by the sum of prompts, not by integer means",
        "timing",
        "tokens = requests * (isl_sum_tokens // requests - prefix_sum_tokens // requests)",
        "tokens = isl_sum_tokens - prefix_sum_tokens",
    ),
    _engine(
        "the mean is taken of the differences, not the difference of the means",
        "timing",
        "tokens = requests * (isl_sum_tokens // requests - prefix_sum_tokens // requests)",
        "tokens = requests * ((isl_sum_tokens - prefix_sum_tokens) // requests)",
    ),
    _engine(
        "first tokens cost decode time",
        "mock_engine",
        "                if known > isl:\n                    self._context += known",
        "                self._context += known",
    ),
    _engine(
        "half a nanosecond is rounded up", "timing", "(twice == denominator and whole & 1)", "twice == denominator"
    ),
    _engine(
        "durations are not rounded to nanoseconds",
        "timing",
        "    ns = nanoseconds(model_ms / 1000.0)\n    seconds = ns // NANOSECONDS + (ns % NANOSECONDS) / 1e9\n    if",
        "    seconds = model_ms / 1000.0\n    if",
    ),
    _engine(
        "the decode speed-up replaces the other one",
        "timing",
        "self._decode_speedup = self._prefill_speedup * (",
        "self._decode_speedup = 1.0 * (",
    ),
    _engine(
        "recomputed generated tokens cost prefill time",
        "mock_engine",
        "self._isl_sum += min(after, isl)",
        "self._isl_sum += after",
    ),
    _engine(
        "tokens computed before a chunk cost prefill time again",
        "mock_engine",
        "self._prefix_sum += before",
        "self._prefix_sum += 0",
    ),
)

PASSES = (
    _engine(
        "requests without output are signalled after the others",
        "mock_engine",
        "        signals = [(request, True, True) for request in self._ended_empty]",
        "        signals: list[tuple[int, bool, bool]] = []",
        (
            "        signals.extend((request, True, True) for request in self.refused)",
            "        signals.extend((request, True, True) for request in self._ended_empty)\n"
            "        signals.extend((request, True, True) for request in self.refused)",
        ),
    ),
    _engine(
        "requests the engine refuses are signalled first",
        "mock_engine",
        "        signals.extend((request, True, True) for request in self.refused)",
        "        signals[:0] = [(request, True, True) for request in self.refused]",
    ),
    _engine(
        "one drain per pass instead of one per signal",
        "replay",
        "            if router.waiting:\n                router.drain(now_ms)\n                if router.failed:\n"
        "                    self._end_failed(now_ms)\n",
        "        if router.waiting:\n            router.drain(now_ms)\n            if router.failed:\n"
        "                self._end_failed(now_ms)\n",
    ),
    _engine("the highest idle worker starts first", "replay", "endpoint = min(startable)", "endpoint = max(startable)"),
    _engine(
        "turns that get ready together go by their own rows, not their sessions' first rows",
        "arrivals",
        "(ready, self._first_row[following], following)",
        "(ready, following, following)",
    ),
    _engine(
        "the pause before a turn is not sped up",
        "arrivals",
        "self._pause_ms[following] / self._speedup",
        "self._pause_ms[following]",
    ),
    _engine(
        "of arrivals at one time the last row comes first",
        "arrivals",
        "        planned.sort(reverse=True)",
        "        planned.sort(key=lambda entry: -entry[0])",
    ),
    _engine(
        "a prompt as long as max_model_len is admitted",
        "mock_engine",
        "requests.isl_tokens[request] >= self._model_len",
        "requests.isl_tokens[request] > self._model_len",
    ),
    _engine(
        "the oldest running request is preempted",
        "mock_engine",
        "victim = self.running.pop()",
        "victim = self.running.pop(0)",
    ),
    _engine(
        "a preempted request goes to the end of the line",
        "mock_engine",
        "self.waiting.appendleft(victim)",
        "self.waiting.append(victim)",
    ),
    _engine(
        "something waiting is admitted in a pass that preempts",
        "mock_engine",
        "if self.waiting and not preempted and",
        "if self.waiting and",
    ),
    _engine(
        "without chunked prefill prompts are cut all the same",
        "mock_engine",
        "not self._options.enable_chunked_prefill and",
        "False and",
    ),
    _engine(
        "with no budget left admission goes on",
        "mock_engine",
        "            if not had_budget:\n                break\n",
        "",
    ),
)

POOL = (
    _engine(
        "one block stays in reserve",
        "mock_engine",
        "if blocks - held_hits > pool.blocks - pool.held:",
        "if blocks - held_hits >= pool.blocks - pool.held:",
    ),
    _engine(
        "hits on idle blocks give credit at admission",
        "mock_engine",
        "if blocks - held_hits > pool.blocks - pool.held:",
        "if blocks - hits > pool.blocks - pool.held:",
    ),
    _engine(
        "the last known token may come from the cache",
        "mock_engine",
        "limit = (known - 1) // size if requests.target_tokens[request] else known // size",
        "limit = known // size",
    ),
    _engine(
        "a request without output computes its last token, too",
        "mock_engine",
        "limit = (known - 1) // size if requests.target_tokens[request] else known // size",
        "limit = (known - 1) // size",
    ),
    _engine(
        "partial blocks are published",
        "mock_engine",
        "full = computed_tokens // self._block_size",
        "full = -(-computed_tokens // self._block_size)",
    ),
    _engine(
        "blocks go back first block first",
        "kv_pool",
        "for block in reversed(self._blocks_of.pop(request, [])):",
        "for block in self._blocks_of.pop(request, []):",
    ),
    _engine("the youngest idle block is evicted", "kv_pool", "popitem(last=False)", "popitem(last=True)"),
    _engine(
        "hits use the newest copy",
        "kv_pool",
        "self._copies[identity][0] in self._count",
        "self._copies[identity][-1] in self._count",
        ("self._attach(self._copies[identity][0], mine)", "self._attach(self._copies[identity][-1], mine)"),
    ),
    _engine(
        "the router is told of the eviction of every copy",
        "kv_pool",
        "            del self._copies[identity]\n            self._events",
        "            del self._copies[identity]\n        self._events",
    ),
    _engine(
        "idle blocks cannot be evicted",
        "kv_pool",
        "if missing > self.blocks - self.held - idle_hits:",
        "if missing > self._free:",
    ),
)
