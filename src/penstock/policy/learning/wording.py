"""Words for what was learned.

>>> rows(410.4), rows(0.25)
('410 rows/s', '0.25 rows/s')
"""

from penstock.policy.learning.agent import Choice


def rows(rate: float | None) -> str:
    """A rate."""
    return f"{rate or 0.0:.3g} rows/s" if (rate or 0.0) < 1000 else f"{rate:.0f} rows/s"


def costs(choice: Choice) -> str:
    """What a step is expected to cost on average, with as many digits as tell two apart.

    >>> costs(Choice(action=1, cost=0.41213, without=0.41248))
    'expected cost 0.4121 against 0.4125 without'
    >>> costs(Choice(action=0, cost=0.4, without=0.4))
    'expected cost 0.4'
    >>> costs(Choice(action=-1, cost=0.5, without=0.4, trial=True))
    'to see what happens'
    """
    if choice.trial:
        return "to see what happens"
    if choice.action == 0:
        return f"expected cost {choice.cost:.2g}"
    for digits in range(2, 7):
        best, other = f"{choice.cost:.{digits}g}", f"{choice.without:.{digits}g}"
        if best != other:
            break
    return f"expected cost {best} against {other} without"
