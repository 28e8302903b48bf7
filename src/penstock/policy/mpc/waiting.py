"""Whether so many rows wait that no replica can be spared, however idle they look."""

from penstock.core.signals import ModuleReading
from penstock.policy.game.estimate import is_known
from penstock.policy.mpc.sentence import rows


def too_many_wait(reading: ModuleReading, degree: int, step: float) -> str | None:
    """Why a module cannot shrink now, in words; None where nothing that waits forbids it.

    It cannot while more rows wait than came, were finished or could be served in a step. Where a
    module works in batches that take longer than half a step, two batches are meant: one that is
    being worked on and the rows that meanwhile come for the next. A backlog that was not measured
    forbids nothing.

    >>> reading = ModuleReading(arrival_rate=100.0, backlog=900.0)
    >>> too_many_wait(reading, degree=2, step=4.0)
    '900 rows wait, more than come or can be served in a step'
    >>> too_many_wait(reading, degree=2, step=10.0)
    """
    waiting = reading.backlog
    if waiting is None or not is_known(waiting):
        return None
    span = max(step, 2.0 * _known(reading.batch_duration))
    if waiting <= span * _pace(reading, degree):
        return None
    return f"{rows(waiting)} rows wait, more than come or can be served in a step"


def _pace(reading: ModuleReading, degree: int) -> float:
    """Rows a second that come, are finished or could be served, whichever are most."""
    time = _known(reading.service_time)
    could = degree / time if time else 0.0
    return max(_known(reading.arrival_rate), _known(reading.processed_rate), could)


def _known(value: float | None) -> float:
    return value if value is not None and is_known(value) else 0.0
