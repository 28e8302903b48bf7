"""The response time of a queue with one server, Poisson arrivals and equal service times (M/D/1).

>>> round(1000 * response(165.0, 1 / 330), 3)  # half busy: half a service time of waiting
4.545
>>> response(330.0, 1 / 330)
inf
"""

from math import inf

from penstock.core.errors import SettingError


def response(arrival_rate: float, service_time: float) -> float:
    """Mean seconds from a row's arrival to the end of its service; infinite under overload."""
    if not (arrival_rate >= 0 and service_time >= 0):
        raise SettingError(
            f"an M/D/1 queue needs a rate and a service time of 0 or more, "
            f"got {arrival_rate:g} and {service_time:g}"
        )
    return service_time + waiting(arrival_rate, service_time)


def waiting(arrival_rate: float, service_time: float) -> float:
    """Mean seconds that a row waits (Pollaczek-Khinchine with no variance of service)."""
    busy = arrival_rate * service_time
    if busy >= 1:
        return inf
    return busy * service_time / (2 * (1 - busy))
