"""The player: the stage in the browser, with transport bar, explanation, log and timelines, without a server rerun.

``pack`` makes the blob the browser gets once per run; ``assets/`` holds the JavaScript that plays it.
"""

from drr.ui.player.component import PARTS, Part, current_view, go_to, player
from drr.ui.player.messages import View

__all__ = ["PARTS", "Part", "View", "current_view", "go_to", "player"]
