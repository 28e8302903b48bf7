"""What will come, foreseen from what came.

| kind | foresees |
|---|---|
| `last` | the newest value, again |
| `ewma` | an average that forgets |
"""

from typing import Final

from penstock.core.roles import Forecaster
from penstock.forecast.ewma import Ewma
from penstock.forecast.last import Last

FORECASTERS: Final[dict[str, type[Forecaster]]] = {"last": Last, "ewma": Ewma}

__all__ = ["FORECASTERS", "Ewma", "Last"]
