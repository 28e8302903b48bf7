"""What the peers' rules share: verdicts become a decision, numbers become words."""

from collections.abc import Callable, Iterable
from math import ceil, inf

from penstock.core.errors import SettingError
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.policy.degrees import sentence
from penstock.policy.game.estimate import is_known
from penstock.policy.mpc.verdict import Verdict, held, judged

_ROUNDING = 1e-9
"""Quotients this close above a whole number of executors are that number."""


def decision(verdicts: Iterable[Verdict]) -> Decision:
    """One decision from the verdicts on all modules; changes are told first.

    >>> decision([held("counter", 3, "utilisation unknown")]).why
    'counter holds at 3, utilisation unknown'
    """
    found = list(verdicts)
    told = sorted(found, key=lambda verdict: not verdict.changes)
    return Decision(
        configuration=Configuration(
            degrees={v.module: v.after for v in found if v.after is not None}
        ),
        why=sentence((v.why for v in told), otherwise="no module was seen"),
    )


def all_hold(seen: Observation, why: str | Callable[[str], str]) -> Decision:
    """Every module keeps its degree, all for the same reason or each for its own."""

    def judge(name: str, _: ModuleReading, degree: int) -> Verdict:
        return held(name, degree, why if isinstance(why, str) else why(name))

    return decision(judged(seen, judge))


def whole(executors: float) -> int:
    """Executors that are enough, at least one.

    >>> whole(2.1), whole(2.0000000001), whole(0.0)
    (3, 2, 1)
    """
    return max(ceil(executors - _ROUNDING), 1)


def known(value: float | None) -> float | None:
    """The reading, or None where it was not measured or is no number of anything.

    >>> known(0.5), known(float("nan")), known(None)
    (0.5, None, None)
    """
    return value if is_known(value) else None


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.754)
    '75.4 %'
    """
    return f"{100 * share:.3g} %"


def number(value: float) -> str:
    """A number with as many digits as a reader wants.

    >>> number(0.123456), number(12345.6)
    ('0.123', '12,346')
    """
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def check(what: str, value: float, low: float, high: float = inf, *, above: bool = False) -> None:
    """Refuse a parameter out of its range, or no number.

    >>> check("target of policy hpa", 1.3, 0.0, 1.0, above=True)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: target of policy hpa must be in (0, 1], got 1.3
    """
    if (low < value if above else low <= value) and value <= high and value < inf:
        return
    if high < inf:
        wanted = f"in {'(' if above else '['}{low:g}, {high:g}]"
    else:
        wanted = f"above {low:g} and finite" if above else f"{low:g} or more and finite"
    raise SettingError(f"{what} must be {wanted}, got {value:g}")
