"""The heart: lanes, the ring with its deficits, and what an arbitration call says about itself.

Read :mod:`drr.scheduler.lanes` first, then :mod:`drr.scheduler.ring`.
"""
