"""Another DRR in Python on equal work: the server of the network simulator ns.py beside our arbiters.

Two flows with quanta 6,000 and 1,500 and packets of 100 to 1,500 bytes, all there at the start, served until nothing
is left. ns.py's server (which runs on SimPy and lets time pass) is classic DRR, and so is our rival arbiter of that
name: both must serve in the same order, else this ends with exit code 1. Ours takes part a second time with the ring of
the router.

Needs the package ``ns.py``: ``pip install ns.py==0.4.3``. ``python benchmarks/peers.py [--packets N] [--write]``
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable, Sequence
from statistics import median

from support import Figures

from drr.scheduler.arbiters import make_arbiter
from drr.scheduler.lanes import SHARED, ClassLanes

QUANTA = (6_000, 1_500)
SIZES = (100, 1_500)
BAR = 1.0
"""Ours must not be slower."""

Served = list[tuple[int, int]]
"""Flow and number of every packet, in the order of service."""


class NeverBlocked:
    """A gate that is always open."""

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        return False

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        return False


def ours(sizes: Sequence[Sequence[int]], arbiter: str) -> tuple[Served, float]:
    """Serve everything with one of our arbiters; also the processor time it took, enqueueing included."""
    started = time.process_time()
    lanes = [ClassLanes(index, NeverBlocked()) for index in range(len(QUANTA))]
    for flow, waiting in enumerate(lanes):
        for number, size in enumerate(sizes[flow]):
            waiting.push((0, float(number), number, number, size), SHARED)
    ring = make_arbiter(arbiter, lanes, list(QUANTA), "documented")  # type: ignore[arg-type]
    served = []
    while (dispatch := ring.pop_next()) is not None:
        served.append((dispatch.class_index, dispatch.request))
    return served, time.process_time() - started


def theirs(sizes: Sequence[Sequence[int]]) -> tuple[Served, float]:
    """The same with ns.py."""
    import simpy
    from ns.packet.packet import Packet
    from ns.scheduler.drr import DRRServer

    class Sink:
        """Notes what comes."""

        def __init__(self) -> None:
            self.served: Served = []

        def put(self, packet: Packet) -> None:
            self.served.append((packet.flow_id, packet.packet_id))

    started = time.process_time()
    environment = simpy.Environment()
    server = DRRServer(environment, rate=8.0, weights=[quantum // min(QUANTA) for quantum in QUANTA])
    server.out = sink = Sink()
    for flow, mine in enumerate(sizes):
        for number, size in enumerate(mine):
            server.put(Packet(0.0, size, number, flow_id=flow))
    environment.run()
    return sink.served, time.process_time() - started


def main() -> int:
    """Measure, print, and say with the exit code whether the bar is met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--packets", type=int, default=5_000, help="packets per flow (default 5,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    try:
        import ns.scheduler.drr  # noqa: F401
    except ImportError:
        print("skipped: ns.py is not installed; pip install ns.py==0.4.3")
        return 0
    draw = random.Random(1)
    sizes = [[draw.randint(*SIZES) for _ in range(options.packets)] for _ in QUANTA]
    sides: dict[str, Callable[[], tuple[Served, float]]] = {
        "ns.py's DRR server": lambda: theirs(sizes),
        "our classic DRR": lambda: ours(sizes, "classic_drr"),
        "our ring of the router": lambda: ours(sizes, "drr"),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    orders: dict[str, Served] = {}
    for _ in range(options.rounds):
        for name, serve in sides.items():
            gc.collect()
            orders[name], seconds = serve()
            times[name].append(seconds / (len(QUANTA) * options.packets))
    figures = Figures()
    for name, each in times.items():
        figures.add(name, median(each) * 1e6, "µs of processor time per packet")
    peer = median(times["ns.py's DRR server"])
    for name in ("our classic DRR", "our ring of the router"):
        figures.add(f"{name} / ns.py's DRR server", median(times[name]) / peer, bar=BAR)
    both = zip(orders["ns.py's DRR server"], orders["our classic DRR"], strict=True)
    figures.add("packets that classic DRR and ns.py serve at another place", sum(a != b for a, b in both), bar=0)
    return figures.finish("benchmarks/peers.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
