"""Where the browser gets plotly.js from, without any network: it is on this machine twice."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import plotly
import streamlit
from streamlit import runtime

_CHUNKS = "PlotlyChart.*.js"


def plotly_sources() -> list[dict[str, str]]:
    """Paths below the app's address at which plotly.js can be had, the best first.

    The first is the module in which Streamlit ships plotly.js for its own charts: a page with such a chart has it
    already, and the browser keeps it. Its name has a digest, and that it sets ``window.Plotly`` is not promised, so
    where it is not found the copy in the plotly package is served as a media file.
    """
    found = _chunks()
    if found:
        return [{"kind": "module", "path": f"static/js/{name}"} for name in found]
    manager = runtime.get_instance().media_file_mgr
    path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    served = manager.add(str(path), "text/javascript", "ringside.plotly", file_name=path.name)
    return [{"kind": "script", "path": served.lstrip("/")}]


@cache
def _chunks() -> tuple[str, ...]:
    folder = Path(streamlit.__file__).parent / "static" / "static" / "js"
    return tuple(sorted(path.name for path in folder.glob(_CHUNKS)))
