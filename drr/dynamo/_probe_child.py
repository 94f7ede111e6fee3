"""The process of a probe that a page asked for: a plan on the first line of standard input, JSON lines out.

Out: ``{"remark": text}``, ``{"row": {...}}`` per request as it ends, then ``{"over": null}`` or ``{"over": error}``.
When standard input ends, the probe is stopped: so it is when the page's server goes away.
"""

from __future__ import annotations

import json
import sys
import threading

from drr.dynamo.probe import run_probe
from drr.dynamo.probe_plan import ProbePlan
from drr.errors import DrrError


def main() -> None:
    """Run one probe."""
    stop = threading.Event()
    plan = ProbePlan.from_mapping(json.loads(sys.stdin.readline()))

    def watch() -> None:
        sys.stdin.read()
        stop.set()

    def send(message: dict[str, object]) -> None:
        print(json.dumps(message), flush=True)

    threading.Thread(target=watch, daemon=True).start()
    try:
        run_probe(
            plan,
            on_row=lambda row: send({"row": row.to_mapping()}),
            on_remark=lambda text: send({"remark": text}),
            stop=stop,
        )
    except DrrError as error:
        send({"over": str(error)})
    else:
        send({"over": None})


if __name__ == "__main__":
    main()
