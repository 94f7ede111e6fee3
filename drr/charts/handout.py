"""A hand-out to print: chosen steps of a run, each as a picture with the sentences that explain it, as one page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from drr.analysis.explain import explain
from drr.analysis.outcomes import result_line, size_facts
from drr.charts.export import ExportError, Progress, check_step, nothing, renderer, stage_figures
from drr.charts.palette import LIGHT
from drr.simulation.recording import Run

MOST_STEPS = 40

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
@page {{ size: A4; margin: 14mm; }}
body {{ font-family: "Source Sans 3", "Source Sans Pro", "Noto Sans", sans-serif; color: #1b1f24; max-width: 900px;
  margin: 2rem auto; padding: 0 1rem; line-height: 1.45; }}
h1 {{ font-size: 1.5rem; margin: 0 0 0.3rem; }}
.facts {{ color: #5b636d; margin: 0 0 1.5rem; }}
section {{ break-inside: avoid; margin: 0 0 2rem; padding-top: 0.8rem; border-top: 1px solid #e3e7ec; }}
h2 {{ font-size: 1.05rem; margin: 0; }}
.when {{ color: #5b636d; font-size: 0.9rem; }}
p {{ margin: 0.3rem 0 0.8rem; overflow-wrap: anywhere; }}
img {{ display: block; width: 100%; height: auto; }}
@media print {{ body {{ margin: 0; padding: 0; max-width: none; font-size: 10.5pt; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="facts">{facts}</p>
{sections}
</body>
</html>
"""
_SECTION = """<section>
<div class="when">{when}</div>
<h2>{headline}</h2>
<p>{text}</p>
<img src="data:image/svg+xml;base64,{picture}" alt="{headline}">
</section>"""


def handout_html(run: Run, steps: Sequence[int], *, title: str, progress: Progress = nothing) -> str:
    """The hand-out; at most :data:`MOST_STEPS` steps. Raises :class:`ExportError` for others and without a browser."""
    if not 1 <= len(steps) <= MOST_STEPS:
        raise ExportError(f"a hand-out of {len(steps):,} steps: between 1 and {MOST_STEPS} are allowed")
    for step in steps:
        check_step(run, step)
    figures = stage_figures(run, LIGHT, 900)
    sections = []
    with renderer() as render:
        for over, step in enumerate(steps):
            progress(over, len(steps))
            said = explain(run, step)
            picture = render(figures(step), "svg", 1.0)
            when = f"step {step + 1:,} of {run.n_steps:,}" + (f", {run.times_ms[step]:,.3f} ms" if step >= 0 else "")
            sections.append(
                _SECTION.format(
                    when=when,
                    headline=escape(said.headline),
                    text=escape(said.text),
                    # As an image of its own: nothing in it can run or load anything.
                    picture=base64.b64encode(picture).decode(),
                )
            )
    return _PAGE.format(title=escape(title), facts=escape(facts(run)), sections="\n".join(sections))


def facts(run: Run) -> str:
    """What kind of run it is, and its result, in a few words."""
    return f"{', '.join(size_facts(run))}, cursor rule {run.cursor_rule}. {result_line(run)}"
