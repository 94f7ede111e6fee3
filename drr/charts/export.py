"""Pictures of the stage as files: PNG, SVG and GIF, drawn by kaleido with a Chrome or Chromium of this machine."""

from __future__ import annotations

import io
import os
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from drr.charts.palette import LIGHT, Theme
from drr.charts.stage import stage_json
from drr.charts.stage_layout import stage_layout
from drr.charts.stage_values import stage_values
from drr.charts.survey import survey
from drr.errors import DrrError
from drr.simulation.recording import Run

PictureFormat = Literal["png", "svg"]
Progress = Callable[[int, int], object]
Renderer = Callable[[dict[str, Any], PictureFormat, float], bytes]

MOST_GIF_FRAMES = 120
GIF_COLOURS = 64

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


class ExportError(DrrError):
    """A file could not be made: something it needs is missing, or the range is too long."""


def nothing(over: int, total: int) -> None:
    """Progress that nobody wants to know."""


def check_step(run: Run, step: int) -> None:
    """Raise :class:`ExportError` for a step the run does not have (-1 is the state before the first)."""
    if not -1 <= step < run.n_steps:
        raise ExportError(f"step {step + 1:,} is not in this run; allowed are 0 (before the first) to {run.n_steps:,}")


def steps_from(run: Run, first: int, count: int, *, decisions_only: bool) -> tuple[int, ...]:
    """At most ``count`` steps from ``first`` on, or decisions from there; where none follows, ``first`` alone."""
    if decisions_only:
        decisions = run.decision_steps
        at = bisect_left(decisions, first)
        return tuple(decisions[at : at + count]) or (first,)
    return tuple(range(first, min(first + count, run.n_steps)))


def stage_picture(
    run: Run, step: int, picture: PictureFormat, *, theme: Theme = LIGHT, width: int = 900, scale: float = 2.0
) -> bytes:
    """The stage right after a step as PNG or SVG; ``scale`` is device pixels per pixel of a PNG."""
    check_step(run, step)
    with renderer() as render:
        return render(stage_figures(run, theme, width)(step), picture, scale)


def stage_gif(
    run: Run,
    steps: Sequence[int],
    *,
    theme: Theme = LIGHT,
    width: int = 900,
    ms_per_step: int = 400,
    progress: Progress = nothing,
) -> bytes:
    """The stage at these steps as an animation that repeats; at most :data:`MOST_GIF_FRAMES` steps."""
    if not 1 <= len(steps) <= MOST_GIF_FRAMES:
        raise ExportError(f"a GIF of {len(steps):,} steps: between 1 and {MOST_GIF_FRAMES} are allowed")
    for step in steps:
        check_step(run, step)
    try:
        from PIL import Image
    except ImportError:
        raise ExportError("a GIF needs the package pillow: pip install pillow") from None
    figures = stage_figures(run, theme, width)
    frames = []
    with renderer() as render:
        for over, step in enumerate(steps):
            progress(over, len(steps))
            picture = Image.open(io.BytesIO(render(figures(step), "png", 1.0))).convert("RGB")
            frames.append(picture.quantize(GIF_COLOURS, dither=Image.Dither.NONE))
    out = io.BytesIO()
    frames[0].save(
        out, "GIF", save_all=True, append_images=frames[1:], duration=ms_per_step, loop=0, optimize=True, disposal=1
    )
    return out.getvalue()


def stage_figures(run: Run, theme: Theme, width: int) -> Callable[[int], dict[str, Any]]:
    """Makes the stage of a step, with the run surveyed once."""
    layout = stage_layout(survey(run), width=width)

    def figure(step: int) -> dict[str, Any]:
        values = stage_values(layout, run.state_at(step), run.cost_tokens)
        return stage_json(layout, values, theme=theme)

    return figure


def find_browser() -> str:
    """The Chrome or Chromium to draw with: BROWSER_PATH, else one on the search path; else :class:`ExportError`."""
    named = os.environ.get("BROWSER_PATH")
    if named:
        if not Path(named).is_file():
            raise ExportError(
                f"BROWSER_PATH names {named!r}, where there is no file; it has to name a Chrome or Chromium"
            )
        return named
    found = next((path for path in map(shutil.which, _BROWSERS) if path), None)
    if found is None:
        raise ExportError(
            "pictures are drawn by a Chrome or Chromium of this machine, and there is none: "
            "install one, or name it with BROWSER_PATH. The offline replay needs none"
        )
    return found


@contextmanager
def renderer() -> Iterator[Renderer]:
    """Draws figures (plain data) as long as it is open: one browser for all of them, without any network."""
    try:
        import kaleido
    except ImportError:
        raise ExportError("pictures need the package kaleido: pip install kaleido") from None
    # MathJax would be fetched from another machine, and the stage has no formulas.
    page = kaleido.PageGenerator(mathjax=False)
    kaleido.start_sync_server(n=1, path=find_browser(), page_generator=page, silence_warnings=True)

    def render(figure: dict[str, Any], picture: PictureFormat, scale: float) -> bytes:
        try:
            made: bytes = kaleido.calc_fig_sync(figure, {"format": picture, "scale": scale})
        except Exception as error:  # whatever a browser may die of
            raise ExportError(f"the browser could not draw the picture: {error}") from error
        return made

    try:
        yield render
    finally:
        kaleido.stop_sync_server(silence_warnings=True)
