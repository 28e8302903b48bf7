"""Settings given in Python."""

from collections.abc import Callable

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.guard import Cooldown, StepLimit
from penstock.policy import Static, Threshold
from penstock.workload import Constant


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Threshold(max_utilisation="0.75"),  # type: ignore[arg-type]
            "max_utilisation of policy threshold must be a number, got '0.75'",
        ),
        (
            lambda: Cooldown(Static(), out="4s"),  # type: ignore[arg-type]
            "out of guard cooldown must be a number of seconds, got '4s'",
        ),
        (
            lambda: StepLimit(Static(), out="2"),  # type: ignore[arg-type]
            "out of guard step-limit must be a whole number, got '2'",
        ),
        (
            lambda: Module(name="a", service_time="3ms"),  # type: ignore[arg-type]
            "service_time of module a must be a number of seconds, got '3ms'",
        ),
        (
            lambda: Constant("300/s"),  # type: ignore[arg-type]
            "rate of workload constant must be a number, got '300/s'",
        ),
    ],
)
def test_a_text_is_no_number_in_python(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        make()
    assert str(caught.value) == message
