"""Buckets that latencies are counted in: 128 an octave, so each is 0.8 % wide at most.

>>> BUCKETS
6016
"""

from typing import Final

LOWEST_OCTAVE: Final = -20
"""Latencies below 2**-20 s, a microsecond, share the first bucket."""
OCTAVES: Final = 47
"""Enough to tell a microsecond from four years."""
PER_OCTAVE_BITS: Final = 7
BUCKETS: Final = OCTAVES << PER_OCTAVE_BITS
