"""Prefix blocks: identities of prompt blocks, and the router's view of which worker holds which.

A full block's identity is its parent's identity plus its content, so equal identities mean equal prompts up to there.
Identities are interned to small ints; equal prompts give equal ints.
"""

from __future__ import annotations

from collections.abc import Sequence

NO_BLOCKS: tuple[int, ...] = ()


class BlockIdentities:
    """Interns (parent identity, content) pairs of blocks of ``block_size`` tokens (the engine's).

    Token i of a prompt has the content ``hash_ids[i // trace_block_size]``; engine blocks are cut from that stream,
    and the two sizes need not divide each other.
    """

    def __init__(self, block_size: int, trace_block_size: int) -> None:
        self.block_size = block_size
        self.trace_block_size = trace_block_size
        self._known: dict[tuple[int, int | tuple[int, ...]], int] = {}
        self._fresh = 0

    def fresh(self) -> int:
        """An identity that nothing else has (a block with generated tokens, a prompt that shares nothing)."""
        self._fresh -= 1
        return self._fresh

    def chain(self, isl_tokens: int, hash_ids: Sequence[int]) -> Sequence[int]:
        """Identities of the full blocks of a prompt, first block first.

        Without ``hash_ids`` every block is fresh, and their identities take no room, however long the prompt is.
        """
        size = self.block_size
        blocks = isl_tokens // size
        if not blocks:
            return NO_BLOCKS
        if not hash_ids:
            first = self._fresh - 1
            self._fresh -= blocks
            return range(first, self._fresh - 1, -1)
        known = self._known
        step = self.trace_block_size
        parent = 0
        identities = []
        for block in range(blocks):
            content: int | tuple[int, ...]
            if step == size:
                content = hash_ids[block]
            else:
                content = tuple(hash_ids[block * size // step : ((block + 1) * size - 1) // step + 1])
            key = (parent, content)
            parent = known.setdefault(key, len(known) + 1)
            identities.append(parent)
        return tuple(identities)


def leading(chain: Sequence[int], present: set[int] | dict[int, int]) -> int:
    """How many blocks at the head of ``chain`` are present without a gap."""
    count = 0
    for identity in chain:
        if identity not in present:
            break
        count += 1
    return count
