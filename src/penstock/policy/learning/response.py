"""How long a row takes in a module, from what was measured of it.

>>> response_time(ModuleReading(waiting_time=0.006, service_time=0.003))
0.009000000000000001
>>> response_time(ModuleReading(batch_duration=1.5, backlog=300.0, processed_rate=200.0))
3.0
>>> response_time(ModuleReading(utilisation=1.0)), response_time(ModuleReading(utilisation=0.4))
(inf, None)
"""

from math import inf, isnan

from penstock.core.signals import ModuleReading
from penstock.model import md1


def response_time(reading: ModuleReading) -> float | None:
    """Mean seconds from a row's arrival to its result; inf where rows only pile up.

    The wait and the service where both are known; else, of micro-batches, a batch and as many more
    as the rows that wait will take. Where only its load is known, a module that has more to do than
    it can is known to be late, and of any other nothing is.
    """
    if _known(reading.waiting_time) and _known(reading.service_time):
        return _value(reading.waiting_time) + _value(reading.service_time)
    if _known(reading.batch_duration) and _known(reading.backlog):
        waits = _working_off(_value(reading.backlog), reading.processed_rate)
        if waits is not None:
            return _value(reading.batch_duration) + waits
    return inf if _overloaded(reading) else None


def late_with(reading: ModuleReading, bound: float) -> int | None:
    """The most replicas, of fewer than now, with which rows would take longer than the bound.

    Each is taken for an M/D/1 queue with the time of a replica that a row takes now; None where
    that is unknown, or no fewer replicas would be late.

    >>> busy = ModuleReading(arrival_rate=900.0, utilisation=0.6, running=4)
    >>> late_with(busy, bound=1.0), late_with(busy, bound=0.005), late_with(busy, bound=0.001)
    (2, 3, 3)
    """
    rows, running = _value(reading.arrival_rate), reading.running or 0
    share = reading.utilisation if reading.load is None else reading.load
    if not rows or not _known(share):
        return None
    service = _value(share) * running / rows
    late = (n for n in range(running - 1, 0, -1) if _is_late(rows / n, service, bound))
    return next(late, None)


def _is_late(rate: float, service: float, bound: float) -> bool:
    seconds = md1.response(rate, service)
    return seconds > bound or seconds == inf


def _working_off(backlog: float, rate: float | None) -> float | None:
    if backlog == 0:
        return 0.0
    if not _known(rate):
        return None
    return backlog / rate if rate else inf


def _overloaded(reading: ModuleReading) -> bool:
    found = (reading.load, reading.utilisation)
    return any(_known(share) and _value(share) >= 1 for share in found)


def _known(value: float | None) -> bool:
    return value is not None and not isnan(value) and value >= 0


def _value(known: float | None) -> float:
    return 0.0 if known is None else known
