"""How long a pass takes, to the last bit of the double.

The real engine keeps durations as whole nanoseconds and turns them back into milliseconds, so plain rounding of
milliseconds would differ in the last bit about half of the time.
"""

from __future__ import annotations

from drr.simulation.engine_options import EngineOptions, FixedTiming, PolynomialTiming

NANOSECONDS = 10**9


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds of a double number of seconds: its exact value, rounded half to even."""
    numerator, denominator = seconds.as_integer_ratio()
    whole, rest = divmod(numerator * NANOSECONDS, denominator)
    twice = 2 * rest
    return whole + (twice > denominator or (twice == denominator and whole & 1))


def duration_ms(model_ms: float, speedup_ratio: float = 1.0) -> float:
    """A model time in milliseconds as the engine reports it: through whole nanoseconds, divided by the speed-up."""
    ns = nanoseconds(model_ms / 1000.0)
    seconds = ns // NANOSECONDS + (ns % NANOSECONDS) / 1e9
    if speedup_ratio != 1.0:
        ns = nanoseconds(seconds / speedup_ratio)
        seconds = ns // NANOSECONDS + (ns % NANOSECONDS) / 1e9
    return seconds * 1000.0


class PassTiming:
    """Durations of the two parts of a pass for one engine, remembered because few different ones occur.

    Formulas and constants are those of Dynamo's mock engine (its default performance model).
    """

    def __init__(self, options: EngineOptions) -> None:
        self._fixed = options.timing_model if isinstance(options.timing_model, FixedTiming) else None
        quadratics = options.timing_model if isinstance(options.timing_model, PolynomialTiming) else PolynomialTiming()
        self._prefill_of = quadratics.prefill
        self._decode_of = quadratics.decode
        self._prefill_speedup = options.speedup_ratio or 1.0
        self._decode_speedup = self._prefill_speedup * (options.decode_speedup_ratio or 1.0)
        self._pool_tokens = options.num_gpu_blocks * options.block_size
        self._prefill: dict[int, float] = {0: 0.0}
        self._decode: dict[int, float] = {0: 0.0}

    def prefill_ms(self, requests: int, isl_sum_tokens: int, prefix_sum_tokens: int) -> float:
        """Prefill part for a number of prefilling requests with these sums over them; integer means come first."""
        if not requests:
            return 0.0
        tokens = requests * (isl_sum_tokens // requests - prefix_sum_tokens // requests)
        known = self._prefill.get(tokens)
        if known is None:
            if self._fixed is not None:
                model = self._fixed.prefill_ms
            else:
                c2, c1, c0 = self._prefill_of
                model = max(0.0, c2 * (tokens * tokens) + c1 * tokens + c0)
            known = self._prefill[tokens] = duration_ms(model, self._prefill_speedup)
        return known

    def decode_ms(self, context_tokens: int) -> float:
        """Decode part for this sum of current lengths over the requests that had emitted before; 0 for none."""
        known = self._decode.get(context_tokens)
        if known is None:
            if self._fixed is not None:
                model = self._fixed.decode_ms
            else:
                fill = min(1.0, context_tokens / self._pool_tokens)
                c2, c1, c0 = self._decode_of
                model = max(1.0, c2 * (fill * fill) + c1 * fill + c0)
            known = self._decode[context_tokens] = duration_ms(model, self._decode_speedup)
        return known
