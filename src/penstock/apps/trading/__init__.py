"""The algorithmic trader on quotes by symbol (mpc, Section 5.1).

`application` runs it on Spark. `quotes` makes the rows; `series` groups a batch of them by symbol;
`operator` accepts or refuses each and turns those accepted into results, with the windows of
`window` and the compiled parabolas of `kernel`.
"""

from typing import Final

from penstock.pipeline.shape import AppSpec, chain

TRADING: Final = AppSpec(
    name="trading",
    shape=chain("algotrader", "consumer", keyed=("algotrader",)),
    spark="penstock.apps.trading.application:TRADING",
    files=__name__,
)
