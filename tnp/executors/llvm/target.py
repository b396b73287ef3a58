"""The thresholds of decisions that depend on the processor: its caches, cores and vectors, and what its memory costs.

What a decision weighs is bytes and additions. A value in a register, or spilled to the stack, costs about as much as an
addition. One that crosses from loop to loop costs little while the loops find it in the core's own cache, and memory's
bandwidth otherwise: some ten additions for each eight bytes.

No result depends on them. How long the blocks of sums are, which decides how they are rounded, stands where they are
summed; what bounds the work of a pass stands in its module.
"""

from __future__ import annotations

__all__: list[str] = []

# Regions, and what is computed again

#: What a core finds in its own second-level cache, beside what else it uses. Loops share an outer loop if what one of its
#: iterations touches is no larger; a long region is cut where no more crosses.
CACHED_BYTES = 256 * 1024
#: Operations in one region, at most, where more crosses each cut. A loop of 5,400 operations is compiled in four seconds,
#: 0.8 ms an operation where short ones take 0.6; one of 10,800 takes 1.4.
LONGEST_REGION = 6144
#: a single operation on fewer elements is left to NumPy, whose loop is as good
SINGLE_ELEMENTS = 32 * 1024
#: so many are sorted where the middle one would do
SORTED_ELEMENTS = 2048
#: operations on no more are part of kernels for any size, though they are of one
FEW_ELEMENTS = 16
#: a loop with an operation on so many elements is left to Python: those are kernels, which have schedules and threads
LOOP_ELEMENTS = 32 * 1024
#: arrays of more elements are left out of blocks: kernels take them; and so are arrays that are sorted, as NumPy sorts more with vectors
BLOCK_ELEMENTS, BLOCK_SORTED = 256, 64
#: ns that a call of native code takes, an operand of it, and the call of a kernel with its operands
CALL_NS, OPERAND_NS, KERNEL_NS = 150, 12, 300
#: ns that Python takes for arithmetic on numbers, for a function of numbers, and to read or write one element of an array
PYTHON_NS, FUNCTION_NS, ELEMENT_NS = 25, 250, 40
#: ns that NumPy takes for one operation on a short array, and for a sum or a sort
ARRAY_NS, REDUCTION_NS = 400, 1500
#: a block of so many operations on arrays of no more elements is only translated
LONG_BLOCK, LONG_BLOCK_ELEMENTS = 60, 64
#: what a block must take alone if none of it would be compiled otherwise: to compile it takes some ms
BLOCK_NS = 900
#: additions that an element may cost more than once, and at each point of a larger domain
RECOMPUTE, REPEAT = 8, 4
#: the same of a value that one statement reads at neighbours; so much more a division or a root of vectors in the cache costs there
NEIGHBOURS, SLOW_DIVISION = 24, 8
#: pieces of one loop over rotated arrays, at most: each is code of its own
MOST_PIECES = 12
#: what it costs to read elements that are not neighbours in memory (additions)
READ_APART = 2
#: what is gathered is stored if so many times as many points read it
GATHERED = 2

# Threads

#: a thread pays for itself from so many additions on
GRAIN = 150_000
#: Instructions of a loop of the user's for which it does: some 0.2 ms, more than a kernel's, because a loop in a loop waits for the
#: other thread at each iteration.
GRAIN_IN_LOOPS = 500_000
#: chunks that the iterations of such a loop are cut into
CHUNKS = 32
#: what an instruction counts in loops that LLVM may vectorise
VECTORISED = 0.08

# Ctrl-C

#: additions from which on a nest polls, after so many of them: 0.05 to 0.2 s on one thread
POLLED_COST, POLL_COST = 1 << 29, 1 << 27
#: instructions of loops of the user's between two polls: 5 ms where each is vectorised, 80 ms where each waits for the second-level
#: cache
POLL_INSTRUCTIONS = 1 << 24

#: elements of windows that an operation sums, with a test for each whether it is inside: of 512, NumPy's convolution takes 0.75 of the time
LONGEST_WINDOW = 256

#: so many elements are sorted one after the other. Libraries sort more with vectors: sixteen in an eighth of the time
SORTED_BY_INSERTION = 5
#: elements of a line that a loop of the user's sorts itself
MOST_SORTED = 1 << 12
#: so many sorted elements are compared with what is looked for, one after the other
SEARCHED = 8
#: so many are searched by halves at most: all are looked at, whether they are sorted. Of these, so many for each value, but no less
#: than for so many values, or for a number of values that is not known
MOST_SEARCHED, SEARCHED_FOR_ONE, SEARCHED_FOR_UNKNOWN = 1 << 17, 32, 1 << 14
#: a loop of the user's searches so many for each element of an array without a branch
SEARCHED_IN_STEPS = 1 << 12

# Small matrices

#: multiplications of a product, and rows of a system of equations, for which a library's call takes longer than what it does
SMALL_PRODUCT, MOST_ROWS = 16**3, 16
#: rows of one in a loop of the user's, which a call would keep from being native
ROWS_IN_LOOPS = 64
#: Rows or columns of one that LAPACK decomposes, called by native code: of more, NumPy's own call is short beside that. The other
#: dimension may be longer where no square of it is made.
LIBRARY_ROWS, LIBRARY_LENGTH = 64, 512

# The stack, in bytes

#: of rows that a thread has to itself
ROW_STACK_BYTES = 32 * 1024
#: of one temporary of a kernel, and of all
PLACE_STACK_BYTES, KERNEL_STACK_BYTES = 16 * 1024, 64 * 1024
#: of one array of a loop of the user's, and of all
ARRAY_STACK_BYTES, LOOP_STACK_BYTES = 16 * 1024, 256 * 1024

# Vectors

#: vectors at a time: accumulators that are added to at once, since an addition waits for the one before; and those of other loops
ACCUMULATORS, INTERLEAVED = 8, 4
#: additions of an iteration, at most, where so many vectors are taken at a time; and where two are
CHEAP, MEDIUM = 16, 40
#: what the time of a loop comes to where so many are
SLOWER = {INTERLEAVED: 1.0, 2: 1.03, 1: 1.06}
#: vectors at a time where elements lie apart in memory
APART = 2
#: vectors at a time of columns that are accumulated
COLUMN_VECTORS = 2

# Caches, in bytes

#: an array is read a second time from memory if it is larger
SECOND_PASS_BYTES = 1 << 20
#: memory that nests go through by rows together is larger; one row of everything is not, so that the next nest finds it in a core's cache
SWEPT_BYTES, SWEPT_ROW_BYTES = 4 << 20, 512 * 1024
#: memory that two nests touch, of which the second is some rows behind, is larger; what both touch meanwhile is not
SKEWED_BYTES, SKEWED_WORKING_BYTES = 1 << 20, 4 << 20
#: a row of these is larger, which makes up for a call
SKEWED_ROW_BYTES = 2048
#: what is touched by both is a reason to write that code, which may be for other sizes
SKEWED_CODE_BYTES = 64 * 1024
#: a panel of a product of matrices has about so many: part of a core's own cache
PANEL_BYTES = 512 * 1024
#: the longest sums of one that goes by panels
PANEL_DEPTH = 512
#: its right operand, which all threads read over and over, has at most so many
RIGHT_BYTES = 4 << 20
#: a matrix that no core's own cache holds; of a smaller one a library computes the product faster
LIBRARY_BYTES = 4 << 20
#: a line, and lines that are prefetched between two parts of a loop: a core waits for about a dozen at a time
LINE_BYTES, PREFETCHED_LINES = 64, 8
#: smaller arrays are in the cache, and larger ones in none
PREFETCHED_FROM, PREFETCHED_TO = 512 * 1024, 16 << 20
