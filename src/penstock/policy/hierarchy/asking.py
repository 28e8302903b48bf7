"""How a manager puts proposals to its rule, and tells what came of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from penstock.core.signals import Observation, Request
from penstock.policy.hierarchy.rule import Answer, Proposal, Rule

PARTLY: Final = "a part of what was asked for"


def ask(rule: Rule, proposals: Sequence[Proposal], seen: Observation) -> tuple[list[Answer], str]:
    """The answers, and what there is to say of them: e2df, Section 6.3, steps 1 to 3."""
    answers = rule.accept(rule.prioritise(proposals, seen), seen)
    after = rule.follow_up(answers, seen)
    clauses = [*_grants(answers), *_refusals(answers), *([after] if after else [])]
    return answers, "; ".join(clauses)


def requests(answers: Iterable[Answer]) -> Iterator[Request]:
    """What is recorded: the part that was granted, and the part that was not."""
    for answer in answers:
        for change, granted in ((answer.granted, True), (answer.refused, False)):
            if change:
                yield Request(
                    level=answer.proposal.level,
                    manager=answer.proposal.manager,
                    change=change,
                    why=answer.proposal.why,
                    granted=granted,
                    answer=PARTLY if granted and answer.refused else answer.why,
                )


def share_of(why: str, name: str) -> str:
    """What a sentence about everybody says of one.

    >>> share_of("count 2 -> 3: 82 % busy; split holds at 4; count limited to 3", "count")
    'count 2 -> 3: 82 % busy; count limited to 3'
    """
    clauses = [c for c in why.split("; ") if c.startswith((f"{name} ", f"{name}:"))]
    return "; ".join(clauses) or why


def _grants(answers: Iterable[Answer]) -> list[str]:
    told = [f"{a.proposal.manager} {a.granted:+d}" for a in answers if a.granted]
    return [f"granted: {', '.join(told)}"] if told else []


def _refusals(answers: Iterable[Answer]) -> list[str]:
    return [
        f"{a.proposal.manager} is refused {a.refused:+d}, {a.why}" for a in answers if a.refused
    ]
