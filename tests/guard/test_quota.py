"""The quota: what all modules together may take."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.settings import build
from penstock.guard import Quota
from penstock.policy import Static
from penstock.testing import seen
from tests.guard.wishes import Wish, WishEach

GIB = float(2**30)
modules = st.sampled_from("abcdef")


@given(
    st.dictionaries(modules, st.integers(1, 30), min_size=1),
    st.dictionaries(modules, st.integers(1, 30)),
    st.integers(1, 60),
    st.integers(1, 3),
)
def test_quota_is_never_exceeded_and_raises_nothing(
    wanted: dict[str, int], running: dict[str, int], executors: int, cores: int
) -> None:
    here = seen({name: {"running": running.get(name)} for name in wanted})
    guard = Quota(WishEach(wanted), cores=executors * cores, executor_cores=cores)
    found = guard(here).configuration.degrees
    assert found.keys() == wanted.keys()
    assert all(1 <= found[name] <= wanted[name] for name in wanted)
    # no module can do with less than one executor
    assert sum(found.values()) <= max(executors, len(wanted))
    if sum(wanted.values()) >= executors >= len(wanted):  # and nothing is left unused
        assert sum(found.values()) == executors


def test_quota_divides_what_is_left_in_proportion_to_what_is_wanted() -> None:
    here = seen(a={"running": 2}, b={"running": 2})
    guard = Quota(WishEach({"a": 10, "b": 6}), cores=10)
    assert guard(here).configuration.degrees == {"a": 6, "b": 4}


def test_quota_takes_nothing_from_a_module_that_keeps_what_it_has() -> None:
    here = seen(a={"running": 5}, b={"running": 2})
    guard = Quota(WishEach({"a": 5, "b": 9}), cores=8)
    assert guard(here).configuration.degrees == {"a": 5, "b": 3}


def test_quota_gives_on_what_another_module_gives_up() -> None:
    here = seen(a={"running": 6}, b={"running": 2})
    guard = Quota(WishEach({"a": 3, "b": 9}), cores=8)
    assert guard(here).configuration.degrees == {"a": 3, "b": 5}


def test_quota_shrinks_what_is_above_it() -> None:
    here = seen(a={"running": 9}, b={"running": 5})
    guard = Quota(WishEach({"a": 9, "b": 5}), cores=8)
    assert guard(here).configuration.degrees == {"a": 5, "b": 3}


def test_quota_counts_modules_without_a_decision() -> None:
    here = seen(a={"running": 5}, b={"running": 2})
    assert Quota(WishEach({"b": 9}), cores=8)(here).configuration.degrees == {"b": 3}


def test_quota_names_the_limit_that_was_reached_first() -> None:
    here = seen(counter={"running": 2})
    limits = {GIB / 2: "8 by the quota of 16 cores", 2 * GIB: "4 by the quota of 8 GiB of memory"}
    for memory, limit in limits.items():
        guard = Quota(
            Wish([9]), cores=16.0, memory=8 * GIB, executor_cores=2, executor_memory=memory
        )
        assert guard(here).why == f"wishes for 9; counter limited to {limit}"
    assert Quota(Wish([9]))(here).why == "wishes for 9"


def test_quota_is_written_as_spark_writes_memory() -> None:
    written = {"memory": "6g", "executor_memory": "1536m", "cores": "9"}
    guard = build(Quota, written, of="guard quota", policy=Wish([9]))
    assert guard(seen(counter={"running": 1})).configuration.degrees == {"counter": 4}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"memory": "64"}, "memory of guard quota needs a unit, got 64; write 64m or 64g"),
        ({"memory": "much"}, "memory of guard quota needs a unit, such as 512m or 8g, got 'much'"),
        ({"cores": 0.5}, "cores of guard quota must be at least the 1 of one executor, got 0.5"),
        ({"cores": 3, "executor_cores": 4}, "must be at least the 4 of one executor, got 3"),
        ({"executor_cores": 0}, "executor_cores of guard quota must be 1 or more, got 0"),
        (
            {"memory": "512m"},
            "memory of guard quota must be at least that of one executor, 1 GiB, got 512 MiB",
        ),
    ],
)
def test_quota_that_makes_no_sense_is_refused(written: Mapping[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build(Quota, written, of="guard quota", policy=Static())
