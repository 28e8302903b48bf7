"""What will come, predicted from what came.

| kind | settings | predicts |
|---|---|---|
| `last` | | the newest value, again |
| `moving-average` | `window` 10 | the mean of the newest few |
| `ewma` | `alpha` 0.5 | an average that forgets |
| `holt` | `a` 0.67, `b` 0.26 | a level and a trend |
| `holt-winters` | `a`, `b`, `c` 0.5, `period`, `season` additive | and what repeats |
| `trusted` | `forecaster` holt, `tolerance` 0.25, `window` 10, `trial` 3, `floor` 0.9 | what \
another does while that comes true, else the newest value |

Forecasters know of no bounds: a trend may lead below zero. `trusted` does not go there, and a rate
that is predicted without it should be taken as zero or more. `Accuracy` tells how far off any of
them was recently.
"""

from penstock.forecast.averages import Ewma, Last, MovingAverage
from penstock.forecast.kinds import FORECASTERS, build_forecaster, make
from penstock.forecast.trends import Holt, HoltWinters
from penstock.forecast.trusted import Accuracy, Trusted

__all__ = [
    "FORECASTERS",
    "Accuracy",
    "Ewma",
    "Holt",
    "HoltWinters",
    "Last",
    "MovingAverage",
    "Trusted",
    "build_forecaster",
    "make",
]
