"""A tournament in a terminal: tables, verdicts, and what to choose."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.cli.sheets import table_lines, wide_console, wrapped
from penstock.core.units import format_duration

if TYPE_CHECKING:
    from penstock.experiment.compare import Advice, Outcome, Verdict


def standings(played: "Outcome", advice: "Advice", verdicts: "Sequence[Verdict]") -> Iterator[str]:
    """Every line; the choice comes last, where it is seen."""
    from penstock.experiment.compare.tables import tables

    console = wide_console()
    yield _headline(played)
    yield "  * least of a column, = not to be told apart from it; \u00b1 95 % interval over seeds"
    for table in tables(played):
        yield ""
        yield from table_lines(table, console)
        for note in table.notes:
            yield from wrapped(note, console.width, mark="- ")
    if verdicts:
        yield ""
        yield f"{played.ours} against the others"
    for verdict in verdicts:
        where = f"{verdict.load}: " if len(played.loads) > 1 and verdict.load else ""
        text = f"{where}{verdict.words}: {verdict.why}"
        yield from wrapped(text, console.width, mark="- ")
    yield ""
    for sentence in advice.why:
        yield from wrapped(sentence, console.width)


def _headline(played: "Outcome") -> str:
    where = "Spark" if played.on == "spark" else "the twin"
    seeds = f"{len(played.seeds)} seed{'s' * (len(played.seeds) != 1)}"
    return (
        f"{played.pipeline} on {where}: {format_duration(played.duration)} a run, {seeds}, "
        f"p95 of {format_duration(played.promised)} promised"
    )
