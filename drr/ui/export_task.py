"""What a worker process does to make a file of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drr.charts.export import stage_gif, stage_picture
from drr.charts.handout import handout_html
from drr.charts.palette import THEMES
from drr.charts.replay_html import replay_html
from drr.simulation.recording import Run
from drr.ui.worker_process import Progress

FileKind = Literal["png", "svg", "gif", "handout", "replay"]
MIME: dict[FileKind, str] = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "gif": "image/gif",
    "handout": "text/html",
    "replay": "text/html",
}


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A finished file."""

    name: str
    mime: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A file to make, as a worker process takes it. Pictures show the first of ``steps``."""

    run_shown: Run
    kind: FileKind
    steps: tuple[int, ...]
    title: str
    theme_name: str
    ms_per_step: int = 400

    def run(self, progress: Progress) -> MadeFile:
        """Make it; raises :class:`drr.charts.export.ExportError` where that is not possible."""
        return MadeFile(self._name(), MIME[self.kind], self._content(progress))

    def _content(self, progress: Progress) -> bytes:
        run, theme = self.run_shown, THEMES[self.theme_name]
        match self.kind:
            case "png" | "svg":
                return stage_picture(run, self.steps[0], self.kind, theme=theme)
            case "gif":
                return stage_gif(run, self.steps, theme=theme, ms_per_step=self.ms_per_step, progress=progress)
            case "handout":
                return handout_html(run, self.steps, title=self.title, progress=progress).encode()
            case "replay":
                return replay_html(run, self.steps, title=self.title, theme=theme, progress=progress).encode()

    def _name(self) -> str:
        first, last = self.steps[0] + 1, self.steps[-1] + 1
        if self.kind in ("png", "svg"):
            return f"ringside-step-{first}.{self.kind}"
        ending = "gif" if self.kind == "gif" else "html"
        name = {"gif": "steps", "handout": "handout", "replay": "replay"}[self.kind]
        return f"ringside-{name}-{first}-{last}.{ending}"
