"""The best tuples of sliding windows, as a table that Spark goes on with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from numbers import Real
from typing import Final, TypedDict, Unpack

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    NumericType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from penstock.core.errors import SettingError
from penstock.core.panes import Panes, microseconds
from penstock.core.settings import near
from penstock.query.preference import measures, splitting
from penstock.query.preference.criterion import (
    Criterion,
    Dominates,
    Merge,
    Preference,
    Skyline,
    TopDelta,
)
from penstock.query.preference.emitter import Slack
from penstock.query.preference.parts import Columns, Work
from penstock.query.preference.punctuation import AdaptiveKSlack, KSlack
from penstock.query.preference.splitting import Splitting
from penstock.query.preference.stages import (
    WINDOW,
    Query,
    find_all_windows,
    find_panes,
    find_windows,
)

MOST_DIMENSIONS = 32
_NESTED: Final = (ArrayType, MapType, StructType, VariantType)
_SUITABLE: Final[Mapping[str, tuple[Callable[[DataType], bool], str, str]]] = {
    "on": (lambda kind: isinstance(kind, NumericType), "a number", "cast it, or compare another"),
    "by": (lambda kind: not isinstance(kind, _NESTED), "a single value", "take a field of it"),
    "time": (
        lambda kind: isinstance(kind, TimestampType | TimestampNTZType),
        "a timestamp",
        'make one of it, as with timestamp_millis("{}")',
    ),
}
"""By the role of a column: which types it may have, in words too, and the remedy for others."""


def columns_of(
    rows: StructType,
    *,
    on: Sequence[str],
    maximise: Sequence[str],
    by: Sequence[str],
    time: str,
    made: Iterable[str],
) -> Columns:
    """The columns of a query, checked against the rows; `made` are those that the query adds."""
    compared, largest, keys = _names(on, "on"), _names(maximise, "maximise"), _names(by, "by")
    schema = _schema(rows, made)
    if not 1 <= len(compared) <= MOST_DIMENSIONS:
        raise SettingError(
            f"on must name 1 to {MOST_DIMENSIONS} columns, got {len(compared)}; "
            "name those to compare"
        )
    for name in compared:
        _check_type(name, "on", schema)
    for name in largest:
        if name not in compared:
            raise SettingError(f"maximise has {name!r}, which on has not{near(name, compared)}")
    for name in keys:
        if name in compared:
            raise SettingError(f"column {name!r} is in by and in on; take it out of one")
        _check_type(name, "by", schema)
    if not isinstance(time, str):
        raise SettingError(f"time must be the name of a column, got {time!r}")
    _check_type(time, "time", schema)
    return Columns(on=compared, maximise=frozenset(largest), by=keys, time=time)


def _names(given: object, what: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SettingError(f"{what} must be a list of column names, got {given!r}; write [...]")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise SettingError(f"{what} must be a list of column names, got {name!r} in it")
        if names.count(name) > 1:
            raise SettingError(f"{what} has {name!r} {names.count(name)} times; name it once")
    return names


def _schema(rows: StructType, made: Iterable[str]) -> dict[str, DataType]:
    names = [name.lower() for name in rows.names]  # Spark ignores case
    for name in rows.names:
        if (times := names.count(name.lower())) > 1:
            raise SettingError(f"the rows have {times} columns {name!r}; rename one")
        if "." in name:
            raise SettingError(
                f"the rows have a column {name!r}, which Python cannot get; rename it"
            )
        if name.lower() in (*made, measures.COLUMN, *splitting.COLUMNS):
            raise SettingError(f"the rows have a column {name!r}, which results have; rename it")
    return {field.name: field.dataType for field in rows.fields}


def _check_type(name: str, role: str, schema: dict[str, DataType]) -> None:
    if name not in schema:
        raise SettingError(f"the rows have no column {name!r}{near(name, schema)}")
    suits, wanted, remedy = _SUITABLE[role]
    if not suits(schema[name]):
        raise SettingError(
            f"column {name!r} of {role} must be {wanted}, got {schema[name].simpleString()}; "
            f"{remedy.format(name)}"
        )


Length = str | timedelta
"""A length of time: "200 milliseconds", "1s", or a timedelta."""


class Settings(TypedDict, total=False):
    """Optional settings of a query."""

    slack: Length
    """The initial allowance for late rows; "0 seconds"."""
    max_slack: Length
    """The maximum allowance for late rows; "1 minute"."""
    max_ahead: Length
    """By how much the time of a row may be ahead of the clock; rows further ahead are set aside and
    counted. Without it one row from the far future closes every window up to there."""
    drop_rate: float
    """The share of rows that may be dropped as late in order to wait less, such as 0.05; without
    it, windows wait for as long as the longest delay seen."""
    splitting: Splitting
    """How heavy panes are split over workers, which may change while the query runs; without it,
    the rows of a pane in one partition of the source are one part of it."""
    slots: int
    """Tasks of the window stage; 1."""
    name: str
    """The name of the measures in the progress of the query; "preference"."""


def skyline(
    rows: DataFrame,
    on: Sequence[str],
    window: Length,
    slide: Length | None = None,
    time: str = "ts",
    maximise: Sequence[str] = (),
    by: Sequence[str] = (),
    **settings: Unpack[Settings],
) -> DataFrame:
    """The rows of each window that no other row of it dominates.

    A row dominates another if it is no worse in any column of `on` and better in one; less is
    better except for the columns in `maximise`. Equal rows are all kept. With `by`, rows are
    compared only with those of the same key.

        best = skyline(hotels, on=["price", "stars"], window="1 hour", slide="5 minutes",
                       time="seen", maximise=["stars"], by=["city"])

    Results are the rows with all their columns, after a column `window` (start and end). `rows` may
    be a stream or a table; `Settings` has further options.
    """
    return _run(rows, Skyline(), on, window, slide, time, maximise, by, settings)


def top_delta(
    rows: DataFrame,
    on: Sequence[str],
    window: Length,
    slide: Length | None = None,
    time: str = "ts",
    maximise: Sequence[str] = (),
    by: Sequence[str] = (),
    *,
    delta: int = 100,
    **settings: Unpack[Settings],
) -> DataFrame:
    """The `delta` rows of each window that are dominated in the fewest columns.

    A row k-dominates another if it is no worse in at least k columns of `on` and better in one of
    those. The column `dominance_factor` is the largest such k over all other rows of the window;
    the answer is the rows with the lowest factors. Ties go to the better value in the first column
    of `on`, then the second, and so on, then to the earlier row.
    """
    return _run(rows, TopDelta(delta), on, window, slide, time, maximise, by, settings)


def prefer(
    rows: DataFrame,
    on: Sequence[str],
    window: Length,
    slide: Length | None = None,
    time: str = "ts",
    maximise: Sequence[str] = (),
    by: Sequence[str] = (),
    *,
    dominates: Dominates,
    merge: Merge | None = None,
    **settings: Unpack[Settings],
) -> DataFrame:
    """The rows of each window that no other is better than, by your own preference.

    `dominates(p, q)` returns whether tuple p is better than q, given the values of `on` as doubles,
    negated where they are in `maximise`; it must be transitive. `merge(left, right)` takes two
    results as arrays and returns which rows of both are the best, as indices into the concatenation
    of the two; by default it compares them all by `dominates`.
    """
    own = Preference(dominates, merge)
    return _run(rows, own, on, window, slide, time, maximise, by, settings)


def _run(
    rows: DataFrame,
    criterion: Criterion,
    on: Sequence[str],
    window: Length,
    slide: Length | None,
    time: str,
    maximise: Sequence[str],
    by: Sequence[str],
    settings: Settings,
) -> DataFrame:
    if not hasattr(rows, "isStreaming"):
        raise SettingError(f"rows must be a DataFrame of Spark's, got {type(rows).__name__}")
    for name in settings:
        if name not in Settings.__annotations__:
            raise SettingError(
                f"there is no setting {name!r} of a query{near(name, Settings.__annotations__)}"
            )
    panes = Panes.parse(window, window if slide is None else slide)
    query = plan(
        rows.schema,
        criterion,
        panes=panes,
        on=on,
        time=time,
        maximise=maximise,
        by=by,
        **settings,
    )
    parts = find_panes(rows, query)
    return find_windows(parts, query) if rows.isStreaming else find_all_windows(parts, query)


def plan(
    rows: StructType,
    criterion: Criterion,
    *,
    on: Sequence[str],
    panes: Panes,
    time: str,
    maximise: Sequence[str] = (),
    by: Sequence[str] = (),
    slack: Length = "0s",
    max_slack: Length = "1 minute",
    max_ahead: Length | None = None,
    drop_rate: float | None = None,
    splitting: Splitting | None = None,
    slots: int = 1,
    name: str = "preference",
) -> Query:
    """A query on rows with these columns, checked."""
    made = (WINDOW,) if criterion.score is None else (WINDOW, criterion.score)
    columns = columns_of(rows, on=on, maximise=maximise, by=by, time=time, made=made)
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise SettingError(f"slots must be a whole number of at least 1, got {slots!r}; write 1")
    if splitting is not None and not isinstance(splitting, Splitting):
        raise SettingError(
            f"splitting must be a Splitting, got {splitting!r}; "
            "write Splitting(path=..., workers=4)"
        )
    ahead = None if max_ahead is None else microseconds(max_ahead, "max_ahead")
    if ahead is not None and ahead < 0:
        raise SettingError(f"max_ahead must not be negative, got {max_ahead}; write 1 hour")
    if isinstance(criterion, Preference):
        criterion.try_out(len(columns.on))
        columns = replace(columns, ranked=False)  # a function gets values, not ranks
    return Query(
        work=Work(columns=columns, panes=panes, criterion=criterion, schema=rows.simpleString()),
        rows=rows,
        slack=_slack(slack, max_slack, drop_rate),
        max_ahead=ahead,
        splitting=splitting,
        slots=slots,
        name=name,
    )


def _slack(slack: Length, most: Length, drop_rate: float | None) -> Slack:
    least, longest = microseconds(slack, "slack"), microseconds(most, "max_slack")
    if not 0 <= least <= longest:
        raise SettingError(
            f"slack must be 0 up to the max_slack of {most}, got {slack}; "
            f"{'write it without the sign' if least < 0 else 'raise max_slack with it'}"
        )
    plain = KSlack(slack=least, max_slack=longest)
    if drop_rate is None:
        return plain
    if isinstance(drop_rate, bool) or not isinstance(drop_rate, Real) or not 0 <= drop_rate < 1:
        raise SettingError(
            f"drop_rate must be a number in [0, 1), got {drop_rate!r}; write 5 % as 0.05"
        )
    return AdaptiveKSlack(kslack=plain, target=float(drop_rate))
