"""One instruction that Python has no word for."""

from typing import Any

from numba import types
from numba.extending import intrinsic


def _generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
    return builder.cttz(arguments[0], context.get_constant(types.boolean, True))


def _lowest_bit(_: Any, word: Any) -> Any:
    """The number of the lowest bit that is set, in compiled code; some bit must be."""
    return types.int64(word), _generate


lowest_bit: Any = intrinsic(_lowest_bit)
