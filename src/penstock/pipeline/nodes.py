"""YAML as nodes that know their lines, parsed in C where there is such a parser.

>>> compose("step: 2s").value[0][1].value
'2s'
"""

from contextlib import suppress
from functools import cache
from typing import Any

import yaml


def compose(text: str) -> Any:
    """The outermost node of a text; None where there is none.

    The parser in C explains what it cannot read less well than the one in Python, which therefore
    has the last word.
    """
    with suppress(ImportError, yaml.YAMLError, UnicodeEncodeError):
        return yaml.compose(text, Loader=_fast_loader())
    return yaml.compose(text, Loader=yaml.BaseLoader)


@cache
def _fast_loader() -> Any:
    from yaml._yaml import CParser  # not on every machine
    from yaml.composer import Composer
    from yaml.resolver import BaseResolver

    class FastLoader(Composer, CParser, BaseResolver):
        """Events come from C; nodes are made in Python, where deep nesting ends in no crash."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            BaseResolver.__init__(self)

    return FastLoader
