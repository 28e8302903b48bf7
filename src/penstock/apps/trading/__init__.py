"""The algorithmic trader on quotes by symbol (mpc, Section 5.1), without Spark.

`quotes` makes the rows; `arrivals` groups a batch of them by symbol; `operator` turns it into
results, with the state of each symbol in a `memory` (it asks `screen` which rows to accept, and
`window` for the parabolas); `candles` is the consumer.
"""

from typing import Final

from penstock.pipeline.shape import AppSpec, chain

TRADING: Final = AppSpec(
    name="trading",
    shape=chain("algotrader", "consumer", keyed=("algotrader",)),
    spark="penstock.apps.trading.application:TRADING",
    files=__name__,
)
