"""What the executors of a module can do, as far as its readings tell.

>>> pace(ModuleReading(service_time=0.01))
100.0
>>> pace(ModuleReading(processed_rate=300.0, running=4, utilisation=0.75))
100.0
>>> pace(ModuleReading(backlog=1e6)) is None
True
"""

from math import isfinite

from penstock.core.signals import ModuleReading, Observation


def pace(module: ModuleReading) -> float | None:
    """Rows a second that one busy executor works off; None where that cannot be told."""
    if known(module.service_time) and module.service_time:
        return 1.0 / module.service_time
    if not known(module.processed_rate, module.utilisation, module.running):
        return None
    busy = (module.running or 0) * (module.utilisation or 0.0)
    rate = (module.processed_rate or 0.0) / busy if busy > 0 else 0.0
    return rate if rate > 0 and isfinite(rate) else None


def known(*values: float | None) -> bool:
    """Whether all of these were measured.

    >>> known(0.0, 3), known(0.0, None), known(float("nan"))
    (True, False, False)
    """
    return all(value is not None and isfinite(value) for value in values)


def rows(count: float) -> str:
    """So many rows, for a reader.

    >>> rows(12000.4), rows(1)
    ('12,000 rows', '1 row')
    """
    return f"{count:,.0f} row{'s' * (round(count) != 1)}"


def percent(share: float) -> str:
    """A share, for a reader.

    >>> percent(0.8512)
    '85.1 %'
    """
    return f"{100 * share:.3g} %"


def reading(seen: Observation, name: str) -> ModuleReading:
    """What was measured of a module: nothing, where it was not seen."""
    return seen.modules.get(name, ModuleReading())
