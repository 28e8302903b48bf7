"""How well a forecaster would have done on a series."""

from collections.abc import Iterable

from penstock.core.roles import Forecaster
from penstock.forecast import Accuracy


def backtest(forecaster: Forecaster, values: Iterable[float], *, horizon: int = 1) -> Accuracy:
    """The accuracy of forecasts of each value before it was known."""
    series = [float(value) for value in values]
    accuracy = Accuracy(horizon=horizon, window=max(len(series), 1))
    for value in series:
        accuracy.update(value)
        forecaster.update(value)
        accuracy.expect(forecaster.forecast(horizon))
    return accuracy
