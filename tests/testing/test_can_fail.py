"""The checks of policies and guards notice what is broken: each of these breaks one promise."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, current
from penstock.guard import Clamp
from penstock.policy import Threshold
from penstock.testing import GUARD_CHECKS, POLICY_CHECKS, check_guard, check_policy, failures


def decision(seen: Observation, degrees: Any = None, why: str = "as it is") -> Decision:
    kept = current(seen).degrees
    return Decision(configuration=Configuration(degrees=degrees or kept), why=why)


# Policies


@dataclass
class Silent:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, why=" ")


@dataclass
class Talkative:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, why="It is late. It holds")


@dataclass
class Forgetful:
    def __call__(self, seen: Observation, /) -> Decision:
        degrees = current(seen).degrees
        return Decision(
            configuration=Configuration(degrees=dict(list(degrees.items())[1:])), why="enough"
        )


@dataclass
class Inventive:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, {**current(seen).degrees, "elsewhere": 2})


@dataclass
class Halving:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, {name: degree / 2 for name, degree in current(seen).degrees.items()})


@dataclass
class Drowsy:
    """Takes silence for idleness."""

    def __call__(self, seen: Observation, /) -> Decision:
        idle = {name: (m.utilisation or 0.0) < 0.1 for name, m in seen.modules.items()}
        kept = current(seen).degrees
        return decision(seen, {name: 1 if idle[name] else kept[name] for name in kept})


@dataclass
class Trusting:
    """Cannot do without a measurement."""

    def __call__(self, seen: Observation, /) -> Decision:
        busy = any(m.utilisation > 0.5 for m in seen.modules.values())  # type: ignore[operator]
        return decision(seen, why=f"busy: {busy}")


@dataclass
class Dicing:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, why=f"the die shows {random.randint(1, 6)}")


@dataclass
class Punctual:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, why=f"it is {time.perf_counter_ns()}")


@dataclass
class Meddling:
    def __call__(self, seen: Observation, /) -> Decision:
        decided = decision(seen)
        seen.modules["splitter"] = ModuleReading()  # type: ignore[index]
        return decided


@dataclass
class Entangled:
    """Shares its memory with its copies."""

    past: list[float] = field(default_factory=list, repr=False)

    def __call__(self, seen: Observation, /) -> Decision:
        self.past.append(seen.at)
        return decision(seen, why=f"{len(self.past)} steps so far")

    def __deepcopy__(self, memo: object) -> "Entangled":
        return replace(self)


class Nameless:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen)


@dataclass
class Nosy:
    def __call__(self, seen: Observation, /) -> Decision:
        return decision(seen, why=f"{len(Path('/dev/null').read_text())} words to go by")


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        (Silent, "gives_a_reason_in_one_sentence"),
        (Talkative, "gives_a_reason_in_one_sentence"),
        (Forgetful, "decides_for_the_modules_seen"),
        (Inventive, "decides_for_the_modules_seen"),
        (Halving, "decides_for_the_modules_seen"),
        (Drowsy, "holds_what_it_knows_nothing_of"),
        (Trusting, "holds_what_it_knows_nothing_of"),
        (Dicing, "decides_alike_from_the_same_observations"),
        (Punctual, "decides_alike_from_the_same_observations"),
        (Meddling, "leaves_the_observation_as_it_was"),
        (Entangled, "forks_into_copies_that_live_apart"),
        (Nameless, "has_a_repr_and_equality_of_its_settings"),
        (Nosy, "touches_nothing_outside"),
    ],
)
def test_a_broken_policy_is_noticed(policy: Callable[[], Any], broken: str) -> None:
    assert broken in failures(POLICY_CHECKS, policy)
    with pytest.raises(AssertionError, match=broken):
        check_policy(policy)


# Guards


@dataclass
class Backwards:
    high: int
    policy: Any


@dataclass
class Discreet:
    """Changes decisions and does not say so."""

    policy: Any

    def __call__(self, seen: Observation, /) -> Decision:
        decided: Decision = self.policy(seen)
        return replace(decided, configuration=current(seen))


@dataclass
class Boastful(Clamp):
    """Claims every proposal for itself."""

    def __call__(self, seen: Observation, /) -> Decision:
        decided = Clamp.__call__(self, seen)
        return replace(decided, proposed=decided.configuration)


@dataclass
class Curt(Clamp):
    def __call__(self, seen: Observation, /) -> Decision:
        return replace(Clamp.__call__(self, seen), why="no")


@dataclass
class Insistent(Clamp):
    def __call__(self, seen: Observation, /) -> Decision:
        self.policy(seen)
        return Clamp.__call__(self, seen)


@pytest.mark.parametrize(
    ("guard", "broken"),
    [
        (lambda policy: Backwards(3, policy), "holds_a_policy_in_its_first_field"),
        (Discreet, "keeps_what_was_proposed"),
        (Discreet, "adds_its_reason_to_the_policys"),
        (Boastful, "keeps_the_innermost_proposal"),
        (Curt, "adds_its_reason_to_the_policys"),
        (Insistent, "asks_its_policy_once_in_every_step"),
    ],
)
def test_a_broken_guard_is_noticed(guard: Callable[[Any], Any], broken: str) -> None:
    assert broken in failures(GUARD_CHECKS, guard)
    with pytest.raises(AssertionError, match=broken):
        check_guard(guard)


def test_a_guard_is_also_checked_as_a_policy() -> None:
    assert {check.__name__ for check in POLICY_CHECKS} - {
        check.__name__ for check in GUARD_CHECKS
    } == {"holds_what_it_knows_nothing_of"}


def test_all_that_is_wrong_is_reported_at_once() -> None:
    with pytest.raises(AssertionError) as caught:
        check_policy(lambda: Nameless())
    messages = str(caught.value).splitlines()
    assert messages[0].startswith("has_a_repr_and_equality_of_its_settings: ")
    assert failures(POLICY_CHECKS, Threshold) == {}
