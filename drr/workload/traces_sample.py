"""A small made-up trace, so that the trace tools can be tried with nothing at hand."""

from __future__ import annotations

from drr.workload.generate import generate
from drr.workload.spec_reading import load_spec
from drr.workload.traces_export import mooncake_lines

NAME = "made-up sample.jsonl"
_BLOCK_TOKENS = 512
_SPEC = f"""\
seed: 8
trace_block_size: {_BLOCK_TOKENS}
streams:
  - name: chat
    header: premium
    duration_ms: 180000
    arrivals: {{shape: poisson, per_second: 2.0}}
    input_tokens: {{shape: lognormal, median: 3000, sigma: 0.9, max: 32000}}
    output_tokens: {{shape: lognormal, median: 250, sigma: 0.7, max: 2000}}
    cache_hits: {{shape: beta, alpha: 2, beta: 2, groups: 8}}
  - name: agents
    header: regular
    duration_ms: 180000
    arrivals: {{shape: spike, per_second: 1.0, spike_per_second: 8.0, start_ms: 70000, end_ms: 110000}}
    input_tokens: {{shape: lognormal, median: 6500, sigma: 0.5, max: 24000}}
    output_tokens: {{shape: uniform, min: 1, max: 40}}
    cache_hits: {{shape: fixed, share: 0.7}}
  - name: overnight
    duration_ms: 180000
    arrivals: {{shape: on_off, per_second: 1.5, on_ms: 15000, off_ms: 30000}}
    input_tokens: {{shape: lognormal, median: 12000, sigma: 0.4, max: 48000}}
    output_tokens: 1
"""


def sample_trace() -> bytes:
    """A Mooncake JSONL file: three services in three minutes, drawn by the workload generator, always the same."""
    spec = load_spec(_SPEC)
    return "".join(mooncake_lines(generate(spec), trace_block_size=spec.trace_block_size)).encode()
