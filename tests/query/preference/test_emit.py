"""The emitter on Spark goes on from what it kept, and from nothing else."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.core.errors import SettingError
from penstock.core.panes import Panes
from penstock.query.preference.criterion import Criterion, Skyline, TopDelta
from penstock.query.preference.emitter import Emit
from penstock.query.preference.pane_stage import PaneStage
from penstock.query.preference.parts import Columns, Work
from penstock.query.preference.punctuation import AdaptiveKSlack, KSlack

SECOND = 1_000_000


@dataclass
class Kept:
    """A state as Spark hands it in."""

    values: list[Any] = field(default_factory=list)

    @property
    def exists(self) -> bool:
        return bool(self.values)

    @property
    def get(self) -> Any:
        return self.values[-1]

    def update(self, value: Any) -> None:
        self.values.append(value)


def emit_of(criterion: Criterion, *, slack: Any = None, slide: int = SECOND) -> Emit:
    columns, panes = Columns(on=("x",)), Panes(window=SECOND, slide=slide)
    work = Work(columns=columns, panes=panes, criterion=criterion, schema="struct<ts,x>")
    return Emit(work=work, slack=slack or KSlack(slack=1), slots=1)


def step(emit: Emit, state: Kept, *times: int) -> list[list[int]]:
    """The windows of the parts that were sent on."""
    work = emit.work
    stage = PaneStage(columns=work.columns, panes=work.panes, criterion=work.criterion)
    moments = pa.array(times, pa.timestamp("us", "UTC"))
    rows = pa.table({"ts": moments, "x": np.arange(len(times))})
    frames = [pa.Table.from_batches([made]).to_pandas() for made in stage(iter(rows.to_batches()))]
    (sent,) = emit((0,), iter([frame.drop(columns="ts") for frame in frames]), state)  # type: ignore[arg-type]
    assert isinstance(sent, pd.DataFrame)
    return [windows for windows, load in zip(sent["windows"], sent["payload"], strict=True) if load]


def test_goes_on_from_what_it_kept() -> None:
    state = Kept()
    assert step(emit_of(Skyline()), state, 0, 10) == []
    assert step(emit_of(Skyline()), state, 2 * SECOND) == [[0]]
    assert step(emit_of(Skyline()), state, 5 * SECOND) == [[2]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (emit_of(TopDelta(20)), "with delta 3, and this one has 20; start it on a new checkpoint"),
        (emit_of(Skyline()), "with kind TopDelta, and this one has Skyline"),
        (emit_of(TopDelta(3), slide=SECOND // 2), "with slide 1000000 us, and this one has 500000"),
    ],
)
def test_refuses_what_another_query_kept(other: Emit, message: str) -> None:
    state = Kept()
    step(emit_of(TopDelta(3)), state, 0)
    with pytest.raises(SettingError, match=message):
        step(other, state, SECOND)


def test_refuses_rows_with_other_columns() -> None:
    state, emit = Kept(), emit_of(Skyline())
    step(emit, state, 0)
    other = replace(emit, work=replace(emit.work, schema="struct<ts,x,y>"))
    with pytest.raises(SettingError, match="with columns struct<ts,x>, and this one has struct"):
        step(other, state, SECOND)


def test_takes_on_another_way_to_wait() -> None:
    state = Kept()
    step(emit_of(Skyline()), state, 0)
    adaptive = AdaptiveKSlack(target=0.1, kslack=KSlack(slack=1, max_slack=SECOND))
    assert step(emit_of(Skyline(), slack=adaptive), state, 3 * SECOND) == [[0]]
    assert step(emit_of(Skyline()), state, 6 * SECOND) == [[3]]


def test_parts_of_a_pane_that_lasts_are_merged_now_and_then() -> None:
    state, emit = Kept(), emit_of(Skyline())
    for batch in range(40):
        step(emit, state, batch)
    with pa.ipc.open_stream(state.get[0]) as kept:
        assert kept.read_all().num_rows <= 16
    assert step(emit, state, 5 * SECOND)[0] == [0]
