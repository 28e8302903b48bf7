"""A paper's experiment: what is simulated, and the tables, figures and claims that it gives.

A paper is one `Paper` object, made from its code and from its data (`data.py`). `reproduce` runs
its tasks in processes, collects what they measured in `Results`, and fills the paper's tables,
figures and claims from these. What is printed, drawn, written as JSON and tested is the
`Reproduction` that it returns; nothing is computed afterwards.

A cell of a table names what was measured (a subject and a quantity), the published value and the
tolerance; both sides of the tolerance count:

>>> results = Results(options=Options(seeds=2), measured={("nash", "cost"): (1850.0, 1860.0)})
>>> cell = Cell(where={"quantity": "cost"}, subject="nash", paper=1792.0, words="{:,.1f}".format)
>>> table = Table(title="Tab. V", header=("strategy", "cost"), rows=[Row(("selfish",), (cell,))])
>>> table.fill(results).rows
(('selfish', '1,855.0 ±63.5 (1,792)'),)

A claim has a kind: `agrees` has a tolerance on both sides, `at least` and `at most` have one side,
`order` compares our own values with one another.

>>> claim = Claim(
...     text="Cooperation costs 5 to 20 % less.",
...     measured=lambda results: [0.12],
...     test=between(0.05, 0.20),
...     found=lambda shares: f"{shares[0]:.0%}",
... )
>>> shown_claim = claim.answer(results)
>>> shown_claim.holds, shown_claim.answer
(True, '12% [agrees: 0.05 to 0.2]')
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, Generic, TypeVar

import numpy as np

from penstock.core.errors import SettingError
from penstock.experiment import results as shown
from penstock.experiment.results import (
    Entry,
    Figure,
    Floats,
    Interval,
    Line,
    Reproduction,
    Words,
    interval,
)
from penstock.experiment.workers import Progress, check_amounts, check_workloads, repeat, silent

Clock = Callable[[], float]
"""Returns seconds since an arbitrary start."""
Detail = TypeVar("Detail")
Values = Mapping[tuple[Hashable, str], Sequence[float] | Interval]
"""By subject and quantity: one value for each seed, or an interval."""
Collected = Mapping[tuple[Hashable, str], list[float]]
"""The same as it was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How much of an experiment to repeat."""

    seeds: int
    steps: int | None = None
    """Control steps of each run; all of them if None."""
    workloads: tuple[str, ...] = ()
    jobs: int = 1
    data: str | None = None
    """Folder of published workloads."""
    clock: Clock | None = None
    """Measures how long decisions take, where a table has that."""


@dataclass(frozen=True, slots=True, eq=False)
class Run(Generic[Detail]):
    """What one task measured; picklable, as it comes from another process."""

    values: Sequence[tuple[Hashable, Mapping[str, float]]]
    """Quantities of each subject."""
    details: Mapping[Any, Detail] = field(default_factory=dict)
    """What figures draw step by step: of the first seed only."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results(Generic[Detail]):
    """What was measured, by subject and quantity, one value for each seed."""

    options: Options
    measured: Values
    details: Mapping[Any, Detail] = field(default_factory=dict)

    def interval(self, subject: Hashable, quantity: str) -> Interval | None:
        """Mean and interval over the seeds; None where nothing was measured."""
        values = self.measured.get((subject, quantity), ())
        if isinstance(values, Interval):
            return values
        return interval(values) if len(values) else None

    def mean(self, subject: Hashable, quantity: str) -> float | None:
        """Mean over the seeds; None where nothing was measured."""
        measured = self.interval(subject, quantity)
        return None if measured is None else measured.mean

    def means(self, subjects: Iterable[Hashable], *quantities: str) -> list[float] | None:
        """Mean of each subject, and of each quantity; None where one was not measured."""
        return all_known(self.mean(s, quantity) for s in subjects for quantity in quantities)


Value = TypeVar("Value")


def all_known(values: Iterable[Value | None]) -> list[Value] | None:
    """A list without gaps; None where one value is missing.

    >>> all_known([1.0, 2.0]), all_known([1.0, None])
    ([1.0, 2.0], None)
    """
    given = list(values)
    known = [value for value in given if value is not None]
    return known if len(known) == len(given) else None


def collect(
    values: Iterable[tuple[Hashable, Mapping[str, float]]],
) -> dict[tuple[Hashable, str], list[float]]:
    """Values by subject and quantity, in the order of the runs; what is not a number is left out.

    >>> collect([("nash", {"cost": 2.0}), ("nash", {"cost": 3.0})])
    {('nash', 'cost'): [2.0, 3.0]}
    """
    collected: dict[tuple[Hashable, str], list[float]] = {}
    for subject, quantities in values:
        for quantity, value in quantities.items():
            if not np.isnan(value):
                collected.setdefault((subject, quantity), []).append(value)
    return collected


def autoregression(draws: Floats, kept: float) -> Floats:
    """Of unit variance like the draws, each value keeping a share of the one before.

    >>> autoregression(np.array([1.0, 0.0, 0.0]), 0.5).tolist()
    [1.0, 0.5, 0.25]
    """
    values = draws.copy()
    for at in range(1, len(draws)):
        values[at] = kept * values[at - 1] + np.sqrt(1 - kept**2) * draws[at]
    return values


# Tables.


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured value of a table, and the published one."""

    where: Mapping[str, str]
    """Identifies the entry in JSON: table, workload, quantity and so on."""
    subject: Hashable
    """What it was measured of; the quantity is `where["quantity"]`."""
    paper: float | None = None
    """As printed; None where the paper has no such value."""
    tolerance: float = 0.1
    """Share of the printed value by which ours may differ, on either side."""
    words: Words
    half: Words | None = None
    """How half of the interval is written; like the value unless given."""
    calibrated: bool = False
    """Whether settings of ours were fitted to the printed value."""
    listed: bool = True
    """Whether it is an entry of this table; else it only repeats one of another."""

    def entry(self, results: Results[Any]) -> Entry | None:
        """Both values; None where nothing was measured."""
        ours = results.interval(self.subject, self.where["quantity"])
        if ours is None:
            return None
        return Entry(
            where=self.where,
            ours=ours,
            paper=self.paper,
            tolerance=self.tolerance,
            calibrated=self.calibrated and self.paper is not None,
        )

    def text(self, results: Results[Any]) -> str:
        """As it is printed; empty where nothing was measured."""
        return shown.cell(self.entry(results), self.words, half=self.half or self.words)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; it is left out if none of its cells was measured."""

    labels: tuple[str, ...]
    cells: tuple[Cell | str, ...]
    unprinted: tuple[Cell, ...] = ()
    """Values that are in the JSON only."""

    def fill(self, results: Results[Any]) -> Iterator[tuple[str, ...]]:
        """The row as it is printed, or nothing."""
        texts = [c if isinstance(c, str) else c.text(results) for c in self.cells]
        if any(text for text, c in zip(texts, self.cells, strict=True) if isinstance(c, Cell)):
            yield (*self.labels, *texts)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why values differ: printed under a table if an entry that it explains differs."""

    text: str
    explains: Callable[[Entry], bool] = lambda _: True

    def __call__(self, differing: Sequence[Entry]) -> Iterator[str]:
        """The text, if there is something to explain."""
        if any(map(self.explains, differing)):
            yield self.text


Note = str | Reason | Callable[[Sequence[Entry]], Iterable[str]]
"""A sentence, a reason, or a function of the entries that differ."""
CALIBRATED: Final = (
    "† is calibrated: settings of ours were fitted to the paper's figure, so it confirms nothing."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the paper, or of ours; left out if nothing of it was measured."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[Row]
    notes: Sequence[Note] = ()
    beside: Sequence["Table"] = ()
    """Tables whose differences its notes explain, too."""

    def entries(self, results: Results[Any]) -> Iterator[Entry]:
        """Every value of the table, row by row."""
        for row in self.rows:
            for cell in (*row.cells, *row.unprinted):
                if isinstance(cell, Cell) and cell.listed and (entry := cell.entry(results)):
                    yield entry

    def without_paper(self) -> "Table":
        """The same without published values, for runs that do not compare with them."""

        def ours(cells: Iterable[Any]) -> tuple[Any, ...]:
            return tuple(replace(c, paper=None) if isinstance(c, Cell) else c for c in cells)

        rows = [Row(row.labels, ours(row.cells), ours(row.unprinted)) for row in self.rows]
        return replace(self, rows=rows)

    def fill(self, results: Results[Any]) -> shown.Table:
        """The table as it is printed; a note says what calibrated values are, if it has any."""
        differing = [e for t in (*self.beside, self) for e in t.entries(results) if e.differs]
        each = ((note,) if isinstance(note, str) else note(differing) for note in self.notes)
        notes = list(chain.from_iterable(each))
        if notes and any(entry.calibrated for entry in self.entries(results)):
            notes.insert(1, CALIBRATED)  # after the legend
        rows = chain.from_iterable(row.fill(results) for row in self.rows)
        return shown.Table(
            title=self.title, header=self.header, rows=tuple(rows), notes=tuple(notes)
        )


# Figures: lines of x and y with a name, in charts with the units of both axes.


def line(name: str, y: Floats, x: Floats | None = None, *, first: float = 0.0) -> Line:
    """A line; counted from `first` on where there is no x."""
    return Line(name=name, x=np.arange(first, len(y) + first) if x is None else x, y=y)


def curve(name: str, x: Sequence[float] | Floats, y: Iterable[float | None]) -> Line:
    """A line through means, with gaps where nothing was measured."""
    values = [np.nan if value is None else value for value in y]
    return Line(name=name, x=np.asarray(x, np.float64), y=np.array(values, np.float64))


def drawable(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Figures with the charts that have data; those that have none are left out."""
    for figure in figures:
        charts = tuple(c for c in figure.charts if c.lines and np.isfinite(c.lines[0].y).any())
        if charts:
            yield replace(figure, charts=charts)


# Claims.


@dataclass(frozen=True, slots=True)
class Test:
    """How measured values are judged."""

    __test__ = False  # pytest would collect it by its name
    kind: str
    """`agrees` (both sides), `at least`, `at most`, or `order`."""
    passes: Callable[[Any], bool] | None = None
    """None where the measure itself says whether it holds, in a finding."""
    limit: str = ""
    """The kind with its tolerance or bound, in words."""


def at_least(bound: float) -> Test:
    """Every value reaches the bound."""
    passes = lambda values: all(value >= bound for value in _numbers(values))  # noqa: E731
    return Test("at least", passes, f"at least {bound:g}")


def at_most(bound: float) -> Test:
    """No value is above the bound."""
    passes = lambda values: all(value <= bound for value in _numbers(values))  # noqa: E731
    return Test("at most", passes, f"at most {bound:g}")


def between(low: float, high: float) -> Test:
    """Every value lies between both."""
    passes = lambda values: all(low <= value <= high for value in _numbers(values))  # noqa: E731
    return Test("agrees", passes, f"agrees: {low:g} to {high:g}")


def agrees(published: float | Sequence[float], *, within: float) -> Test:
    """Every value is as near to its published one as that, on either side.

    >>> agrees([100.0], within=5).passes([95.0]), agrees(0.9, within=0.05).passes([0.8])
    (True, False)
    """

    def passes(values: Any) -> bool:
        numbers = np.array(_numbers(values))
        return bool((np.abs(numbers - published) <= within).all())

    return Test("agrees", passes, f"agrees within {within:g}")


def _numbers(values: Any) -> list[float]:
    return list(values.values() if isinstance(values, Mapping) else values)


@dataclass(frozen=True, slots=True)
class Finding:
    """Values, and whether they are as claimed: of an order, or of a limit in words."""

    values: Any
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Generic[Detail]):
    """A statement of the paper, or of ours, and how it is tested on the results."""

    text: str
    measured: Callable[[Results[Detail]], Any]
    """The values that it is about, or a finding; None or nothing where the runs do not show it."""
    test: Test
    found: Callable[[Any], str]
    """What was measured, in words."""
    calibrated: bool = False
    """Whether settings of ours were fitted to make it hold."""
    reason: str = ""
    """Why it may not hold in a whole run; printed where it does not."""

    def answer(self, results: Results[Detail]) -> shown.Claim | None:
        """Whether it holds; None where nothing can be said."""
        found = self.measured(results)
        judged = isinstance(found, Finding)
        values = found.values if judged else found
        if values is None or (isinstance(values, Mapping | Sequence) and not values):
            return None
        if judged != (self.test.passes is None):
            raise TypeError(f"either the limit or the measure says whether it holds: {self.text}")
        return shown.Claim(
            text=self.text,
            found=self.found(values),
            holds=self.test.passes(values) if self.test.passes else found.holds,
            kind=self.test.kind,
            limit=self.test.limit,
            calibrated=self.calibrated,
            reason=self.reason,
        )


HOW_CLAIMS_ARE_JUDGED: Final = (
    "Of findings, [agrees] is a tolerance on both sides, [at least] and [at most] are one side "
    "only, and [order] compares our own values with one another. Where it says calibrated, "
    "settings of ours were fitted so that it holds, which is no agreement."
)


# The paper as a whole, and its one runner.


Task = TypeVar("Task")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(Generic[Task, Detail]):
    """Everything that `penstock reproduce` knows about a paper."""

    name: str
    title: str
    seeds: int
    """Repetitions unless given."""
    steps: int | None = None
    """Control steps unless given; None for all of them."""
    workloads: tuple[str, ...] = ()
    takes: frozenset[str] = frozenset()
    """Options of `Options` that it has beside seeds and jobs."""
    check: Callable[[Options], None] = lambda _: None
    """Refuses options that cannot be used, such as a folder without data."""
    tasks: Callable[[Options], Iterable[Task]]
    """Everything that is run; tasks are picklable."""
    examine: Callable[[Task], Run[Detail]]
    """Runs one task, in any process."""
    derive: Callable[[Options, Collected], Values] = lambda *_: {}
    """Further values, from those of all tasks."""
    settings: Callable[[Options], Mapping[str, Any]]
    """In the JSON, beside the options."""
    remarks: Callable[[Options], Iterable[str]]
    """How it was done."""
    tables: Callable[[Results[Detail]], Iterable[Table | shown.Table]]
    figures: Callable[[Results[Detail]], Iterable[Figure]]
    claims: Sequence[Claim[Detail]]

    def options(self, **given: Any) -> Options:
        """The defaults and what was given, checked."""
        for name in sorted(given.keys() - self.takes - {"seeds", "jobs", "clock"}):
            option = "workload" if name == "workloads" else name
            value = given[name][0] if name == "workloads" else given[name]
            raise SettingError(
                f"paper {self.name} takes no --{option}, got {value!r}; leave it out"
            )
        defaults = {"seeds": self.seeds, "steps": self.steps, "workloads": self.workloads}
        options = Options(**{**defaults, **given})
        check_amounts(seeds=options.seeds, steps=options.steps, jobs=options.jobs)
        check_workloads(options.workloads, self.workloads)
        self.check(options)
        return options

    def parameters(self, options: Options) -> dict[str, Any]:
        """The options that it takes, and its settings."""
        taken = {"steps": options.steps, "workloads": list(options.workloads)}
        chosen = {name: value for name, value in taken.items() if name in self.takes}
        return {"seeds": options.seeds, **chosen, **self.settings(options)}


def simulate(
    paper: Paper[Task, Detail], options: Options, progress: Progress = silent
) -> Results[Detail]:
    """Run every task; values are in the same order whatever the number of jobs."""
    tasks = list(paper.tasks(options))
    short = next(iter(paper.tasks(replace(options, seeds=1, steps=1))))
    runs = repeat(paper.examine, tasks, jobs=options.jobs, progress=progress, compile_with=short)
    return gather(paper, options, runs)


def gather(
    paper: Paper[Any, Detail], options: Options, runs: Sequence[Run[Detail]]
) -> Results[Detail]:
    """Values and details of all runs, and what is derived from them."""
    measured = collect(pair for run in runs for pair in run.values)
    return Results(
        options=options,
        measured={**measured, **paper.derive(options, measured)},
        details={key: detail for run in runs for key, detail in run.details.items()},
    )


def reproduce(
    paper: Paper[Any, Any], options: Options, progress: Progress = silent
) -> Reproduction:
    """Repeat the experiments of a paper, and compare them with what it printed."""
    return present(paper, simulate(paper, options, progress))


def present(paper: Paper[Any, Detail], results: Results[Detail]) -> Reproduction:
    """Tables, figures and claims of results."""
    tables = list(paper.tables(results))
    filled = (t.fill(results) if isinstance(t, Table) else t for t in tables)
    entries = (e for t in tables if isinstance(t, Table) for e in t.entries(results))
    answers = [answer for claim in paper.claims if (answer := claim.answer(results))]
    if results.options.steps not in (None, paper.steps):
        answers = [replace(answer, reason="") for answer in answers]
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        settings=paper.parameters(results.options),
        entries=tuple(entries),
        tables=tuple(table for table in filled if table.rows),
        figures=tuple(paper.figures(results)),
        claims=tuple(answers),
        remarks=(*paper.remarks(results.options), HOW_CLAIMS_ARE_JUDGED),
    )
