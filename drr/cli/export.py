"""``export``: a step of a run as a picture, or a run as an offline replay or a hand-out, as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.cli.inputs import add_run_arguments, load_run, positive, write_bytes_whole
from drr.errors import DrrError
from drr.simulation.recording import Run

if TYPE_CHECKING:
    from argparse import _SubParsersAction

ENDINGS = (".png", ".svg", ".gif", ".html")


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("export", help="write the stage as a picture, animation or page", description=__doc__)
    add_run_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=f"ends in {', '.join(ENDINGS)}")
    parser.add_argument("--step", type=int, default=1, metavar="K", help="the K-th step, from 1; 0 is before the first")
    parser.add_argument(
        "--count", type=positive, default=30, help="so many steps from there (animation, pages; default 30)"
    )
    parser.add_argument("--every-step", action="store_true", help="every step, not only decisions")
    parser.add_argument("--handout", action="store_true", help="with .html: a page to print instead of a replay")
    parser.add_argument("--dark", action="store_true", help="on a dark ground")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: written, 2: it could not be made."""
    if options.out.suffix.lower() not in ENDINGS:
        raise DrrError(f"--out {options.out}: the name has to end in {', '.join(ENDINGS)}")
    content = _content(load_run(options), options)
    write_bytes_whole(options.out, content)
    print(f"{options.out}: {len(content):,} bytes", file=sys.stderr)
    return 0


def _content(done: Run, options: argparse.Namespace) -> bytes:
    # Here, so that the other verbs do not wait for a library of charts.
    from drr.charts.export import check_step, stage_gif, stage_picture, steps_from
    from drr.charts.handout import handout_html
    from drr.charts.palette import DARK, LIGHT
    from drr.charts.replay_html import replay_html

    first, theme = options.step - 1, DARK if options.dark else LIGHT
    check_step(done, first)
    ending = options.out.suffix.lower()
    if ending in (".png", ".svg"):
        return stage_picture(done, first, "png" if ending == ".png" else "svg", theme=theme)
    steps = steps_from(done, first, options.count, decisions_only=not options.every_step)
    if ending == ".gif":
        return stage_gif(done, steps, theme=theme)
    title = "A run in Ringside"
    if options.handout:
        return handout_html(done, steps, title=title).encode()
    return replay_html(done, steps, title=title, theme=theme).encode()
