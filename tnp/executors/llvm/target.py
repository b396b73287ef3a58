"""What memory costs on the processors that code is made for: the thresholds of the decisions about traffic.

What a decision weighs is bytes. A value in a register, or spilled to the stack, costs about as much as an addition. One
that crosses from loop to loop costs little while the loops find it in the core's own cache, and memory's bandwidth
otherwise: some ten additions for each eight bytes.
"""

from __future__ import annotations

__all__ = ["CACHED_BYTES", "LONGEST_REGION"]

#: What a core finds in its own second-level cache, beside what else it uses. Loops share an outer loop if what one of its
#: iterations touches is no larger; a long region is cut where no more crosses.
CACHED_BYTES = 256 * 1024
#: Operations in one region, at most, where more crosses each cut. A loop of 5,400 operations is compiled in four seconds,
#: 0.8 ms an operation where short ones take 0.6; one of 10,800 takes 1.4.
LONGEST_REGION = 6144
