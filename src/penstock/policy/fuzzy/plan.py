"""What is asked for of each stage now: what the rules want, where the stage can be judged."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.policy.fuzzy.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The degree that a stage is to have.

    >>> stage = Stage(name="plq", load=1.5, degree=4, running=4)
    >>> growth = Plan(stage=stage, after=6)
    >>> growth.told, growth.expects
    ('plq 4 -> 6', 1.0)
    """

    stage: Stage
    after: int

    @property
    def grows(self) -> bool:
        """Whether it asks for more executors."""
        return self.after > self.stage.degree

    @property
    def changes(self) -> bool:
        """Whether it asks for another number of executors."""
        return self.after != self.stage.degree

    @property
    def told(self) -> str:
        """The plan in words."""
        if self.changes:
            return f"{self.stage.name} {self.stage.degree} -> {self.after}"
        return f"{self.stage.name} holds at {self.after}"

    @property
    def expects(self) -> float:
        """The load once the plan has come true, if as much work comes."""
        return self.stage.load * self.stage.running / self.after


def plans(stages: Iterable[Stage], wanted: Iterable[int], pool: int) -> tuple[Plan, ...]:
    """What each stage is to have, none beyond what the other leaves of the pool.

    The rules share the pool between the degrees that they want. A stage in doubt keeps its own, and
    the other cannot have them.

    >>> unknown = Stage(name="plq", load=0.9, degree=10, running=10, doubt="load of plq unknown")
    >>> slow = Stage(name="wlq", load=1.4, degree=45, running=45)
    >>> [plan.told for plan in plans([unknown, slow], [5, 54], pool=59)]
    ['plq holds at 10', 'wlq 45 -> 49']
    """
    both = zip(stages, wanted, strict=True)
    made = tuple(
        Plan(stage=s, after=s.degree if s.doubt or s.keeps(after) else after) for s, after in both
    )
    over = sum(plan.after for plan in made) - pool
    return tuple(_less(plan, over) if over > 0 and plan.grows else plan for plan in made)


def _less(plan: Plan, over: int) -> Plan:
    return replace(plan, after=max(plan.after - over, plan.stage.degree))
