"""Sentences that never end: row number i is always the same sentence.

Three to seven words each, five on average. Three words in five are short ones that carry no
meaning; both the short and the long ones follow Zipf's law.

>>> Sentences(seed=1).texts(np.arange(2))
['kaho rinuke moti', 'takuro siku hohamu taho kima resu']
"""

from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.core.chance import uniform

SHORTEST_KEPT: Final = 5
"""Letters below which a word is dropped by the filter."""
_SHORT_SHARE: Final = 0.6
_WORDS: Final = 400
_LONGEST: Final = 7
_STRIDE: Final = 977  # shares no factor with the number of words that can be spelled
_SYLLABLES: Final = tuple(a + b for a, b in product("hkrmtnsl", "aeoui"))


@dataclass(frozen=True)
class Sentences:
    """What the rows of the word count hold."""

    seed: int = 0

    @property
    def schema(self) -> str:
        """One column."""
        return "sentence string"

    def columns(self, index: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The sentences with these numbers."""
        return {"sentence": pa.array(self.texts(index), pa.string())}

    def texts(self, index: NDArray[np.int64]) -> list[str]:
        """The sentences with these numbers, as texts."""
        lengths = 3 + (5 * self._chance(index, 0)).astype(np.int64)
        words = self._words(index)
        return [" ".join(row[:length]) for row, length in zip(words, lengths, strict=True)]

    def _words(self, index: NDArray[np.int64]) -> NDArray[np.object_]:
        places = (index[:, None] * _LONGEST + np.arange(_LONGEST)).ravel()
        short = self._chance(places, 1) < _SHORT_SHARE
        rank = np.searchsorted(_ZIPF, self._chance(places, 2))
        words: NDArray[np.object_] = np.where(short, _SHORT[rank], _LONG[rank])
        return words.reshape(len(index), _LONGEST)

    def _chance(self, index: NDArray[np.int64], purpose: int) -> NDArray[np.float64]:
        return uniform(index, 3 * self.seed + purpose)


def _spell(syllables: int) -> NDArray[np.object_]:
    """Words of so many syllables, picked far apart so that neighbours in rank look different."""
    picked = (np.arange(1, _WORDS + 1) * _STRIDE) % len(_SYLLABLES) ** syllables
    digits = [picked // len(_SYLLABLES) ** place % len(_SYLLABLES) for place in range(syllables)]
    return np.array(
        ["".join(_SYLLABLES[d] for d in word) for word in zip(*digits, strict=True)], object
    )


def _zipf() -> NDArray[np.float64]:
    weights = 1.0 / np.arange(1, _WORDS + 1)
    reached: NDArray[np.float64] = np.cumsum(weights) / weights.sum()
    return reached


_ZIPF: Final = _zipf()
_SHORT: Final = _spell(2)
_LONG: Final = _spell(3)
