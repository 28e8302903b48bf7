"""Mistakes in the columns of a preference query, told before it starts."""

from collections.abc import Iterable, Sequence

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
from penstock.core.settings import near
from penstock.query.preference import splitting, told
from penstock.query.preference.part import Columns

MOST_DIMENSIONS = 32
_NESTED = (ArrayType, MapType, StructType, VariantType)


def columns_of(
    rows: StructType,
    *,
    on: Sequence[str],
    maximise: Sequence[str],
    by: Sequence[str],
    time: str,
    made: Iterable[str],
) -> Columns:
    """The columns of a query, if the rows have them; `made` are those that the query adds."""
    compared, largest, keys = _names(on, "on"), _names(maximise, "maximise"), _names(by, "by")
    schema = _schema(rows, made)
    _check_on(compared, schema)
    for name in largest:
        if name not in compared:
            raise SettingError(f"maximise has {name!r}, which on has not{near(name, compared)}")
    _check_by(keys, compared, schema)
    _check_time(time, schema)
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
    names = [name.lower() for name in rows.names]  # Spark does not tell cases apart
    for name in rows.names:
        if (times := names.count(name.lower())) > 1:
            raise SettingError(f"the rows have {times} columns {name!r}; rename one")
        if "." in name:
            raise SettingError(
                f"the rows have a column {name!r}, which Python cannot get; rename it"
            )
        if name.lower() in (*made, told.COLUMN, *splitting.COLUMNS):
            raise SettingError(f"the rows have a column {name!r}, which results have; rename it")
    return {field.name: field.dataType for field in rows.fields}


def _find(name: str, schema: dict[str, DataType]) -> DataType:
    if name not in schema:
        raise SettingError(f"the rows have no column {name!r}{near(name, schema)}")
    return schema[name]


def _check_on(on: tuple[str, ...], schema: dict[str, DataType]) -> None:
    if not 1 <= len(on) <= MOST_DIMENSIONS:
        raise SettingError(
            f"on must name 1 to {MOST_DIMENSIONS} columns, got {len(on)}; name those to compare"
        )
    for name in on:
        kind = _find(name, schema)
        if not isinstance(kind, NumericType):
            raise SettingError(
                f"column {name!r} of on must be a number, got {kind.simpleString()}; "
                "cast it, or compare another"
            )


def _check_by(by: tuple[str, ...], on: tuple[str, ...], schema: dict[str, DataType]) -> None:
    for name in by:
        kind = _find(name, schema)
        if name in on:
            raise SettingError(f"column {name!r} is in by and in on; take it out of one")
        if isinstance(kind, _NESTED):
            raise SettingError(
                f"column {name!r} of by must be a single value, got {kind.simpleString()}; "
                "take a field of it"
            )


def _check_time(time: str, schema: dict[str, DataType]) -> None:
    if not isinstance(time, str):
        raise SettingError(f"time must be the name of a column, got {time!r}")
    kind = _find(time, schema)
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise SettingError(
            f"column {time!r} of time must be a timestamp, got {kind.simpleString()}; "
            f'make one of it, as with timestamp_millis("{time}")'
        )
