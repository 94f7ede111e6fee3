"""How much of a trace's prompts a prefix cache can save: one shared cache without end, and bounded ones per worker.

Both start empty, so first sights of a prompt count as misses (cold start): a slice from the middle of a longer trace
has a smaller share than the whole would have had there. Only full blocks are reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from drr.errors import WorkloadError
from drr.router.prefix import BlockIdentities, leading
from drr.router.requests import RequestTable
from drr.simulation.kv_pool import CachingPool

Progress = Callable[[int, int], object]
"""Is told (requests looked at, requests in all) now and then; may raise to end it."""
PROGRESS_ROWS = 256


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """Cached prompt tokens per row, and in all. ``refused_rows`` fit into no worker's pool and count as uncached."""

    cached_tokens: tuple[int, ...]
    input_tokens: int
    rows_with_hits: int
    cold_rows: int
    """Rows that have a full block and whose first one was in no cache yet."""
    evicted_blocks: int = 0
    refused_rows: int = 0

    @property
    def total_cached_tokens(self) -> int:
        """Cached prompt tokens over all rows."""
        return sum(self.cached_tokens)

    @property
    def cached_share(self) -> float:
        """Cached part of all prompt tokens, from 0 to 1."""
        return self.total_cached_tokens / self.input_tokens if self.input_tokens else 0.0


def arrival_order(table: RequestTable) -> list[int]:
    """Rows by timestamp, equal ones in file order; a turn without a timestamp follows the row before it."""
    last = 0.0
    times = []
    for stamp in table.timestamp_ms:
        last = last if stamp is None else stamp
        times.append(last)
    return sorted(range(len(times)), key=times.__getitem__)


def _told(rows: Sequence[int], progress: Progress | None) -> Iterator[int]:
    for number, row in enumerate(rows):
        if progress is not None and number % PROGRESS_ROWS == 0:
            progress(number, len(rows))
        yield row


def unbounded_cache(
    table: RequestTable, *, trace_block_size: int, block_size: int | None = None, progress: Progress | None = None
) -> CacheFigures:
    """The upper bound: one cache for all workers that forgets nothing and knows a prompt as soon as it arrives.

    ``block_size`` is that of the cache; without it, whole trace blocks.
    """
    size = block_size or trace_block_size
    identities = BlockIdentities(size, trace_block_size)
    seen: set[int] = set()
    cached = [0] * len(table)
    cold = 0
    for row in _told(arrival_order(table), progress):
        ids = table.hash_ids[row]
        # Prompts without ids share nothing: no chain says the same as one of fresh blocks.
        chain = tuple(identities.chain(table.isl_tokens[row], ids)) if ids else ()
        hits = leading(chain, seen)
        cold += bool(chain) and not hits
        cached[row] = hits * size
        seen.update(chain[hits:])
    return CacheFigures(tuple(cached), sum(table.isl_tokens), sum(map(bool, cached)), cold)


def bounded_caches(
    table: RequestTable,
    *,
    trace_block_size: int,
    block_size: int,
    num_gpu_blocks: int,
    workers: int = 1,
    endpoints: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> CacheFigures:
    """One bounded cache per worker, with the mock engine's own pool: full blocks, oldest given back evicted first.

    Requests go one after the other, in order of arrival: each takes its blocks, generates and gives them back before
    the next one comes. (In a run many hold blocks at once, which leaves less to the cache; with one sequence per worker
    run and model agree.) Rows go to ``endpoints`` (the workers of a run, -1 for none), else round robin.
    """
    if endpoints is not None and len(endpoints) != len(table):
        raise WorkloadError(f"{len(endpoints):,} workers are named for {len(table):,} requests")
    identities = BlockIdentities(block_size, trace_block_size)
    pools: dict[int, CachingPool] = {}
    cached = [0] * len(table)
    cold = evicted = refused = 0
    for turn, row in enumerate(_told(arrival_order(table), progress)):
        worker = turn % workers if endpoints is None else endpoints[row]
        if worker < 0:
            continue
        pool = pools.setdefault(worker, CachingPool(num_gpu_blocks))
        isl, output = table.isl_tokens[row], table.output_tokens[row]
        # The last token generated is never computed, so its block is never needed.
        computed = isl + max(output - 1, 0)
        if -(-computed // block_size) > num_gpu_blocks:
            refused += 1
            continue
        chain = tuple(identities.chain(isl, table.hash_ids[row]))
        hits = pool.hits(chain, isl // block_size if output == 0 else (isl - 1) // block_size)
        cold += bool(chain) and not pool.hits(chain, 1)  # the last block may be there and not be reused
        cached[row] = hits * block_size
        chain += tuple(identities.fresh() for _ in range(computed // block_size - len(chain)))
        pool.grow(row, -(-isl // block_size), chain, hits)
        pool.publish(row, chain, isl // block_size)
        pool.grow(row, -(-computed // block_size))
        pool.publish(row, chain, computed // block_size)
        pool.release(row)
        evicted += sum(not stored for stored, _ in pool.take_events())
    return CacheFigures(tuple(cached), sum(table.isl_tokens), sum(map(bool, cached)), cold, evicted, refused)
