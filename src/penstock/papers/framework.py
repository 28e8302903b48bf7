"""A paper's experiment as data: what is simulated, and the tables, figures and claims it gives.

A paper is one `Paper` object. `reproduce` runs its tasks in processes, gathers what they measured
into `Results`, and fills the paper's tables, figures and claims from these. What is printed, drawn,
written as JSON and tested is the `Reproduction` that it returns; nothing is computed afterwards.

A cell of a table names what was measured (a subject and a quantity), the published value and the
tolerance; both sides of the tolerance count:

>>> results = Results(options=Options(seeds=2), measured={("nash", "cost"): (1850.0, 1860.0)})
>>> cell = Cell(where={"table": "V", "quantity": "cost"}, subject="nash", paper=1792.0)
>>> table = Table(title="Tab. V", header=("strategy", "cost"), rows=(Row(("selfish",), (cell,)),))
>>> table.fill(results).rows
(('selfish', '1,855.0 ±63.5 (1,792)'),)

A claim has a kind: `agrees` has a tolerance on both sides, `at least` and `at most` have one side,
`order` compares our own values with one another.

>>> claim = Claim(
...     text="Cooperation costs 5 to 20 % less.",
...     measured=lambda results: [0.12],
...     test=between(0.05, 0.20),
...     found=lambda shares: f"{100 * shares[0]:.0f} %",
... )
>>> claim.answer(results)
Claim(text='Cooperation costs 5 to 20 % less.', found='12 %', holds=True, kind='agrees')
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Final, Generic, TypeVar

import numpy as np

from penstock.core.errors import SettingError
from penstock.experiment import results as shown
from penstock.experiment.results import (
    Chart,
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
TABLE_OF_ASSUMPTIONS: Final = "What the paper leaves open, and what was taken"


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


Detail = TypeVar("Detail")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results(Generic[Detail]):
    """What was measured, by subject and quantity, one value for each seed."""

    options: Options
    measured: Mapping[tuple[Hashable, str], Sequence[float] | Interval]
    details: Detail = None  # type: ignore[assignment]  # papers without details have None
    """Runs step by step, for figures."""

    def interval(self, subject: Hashable, quantity: str) -> Interval | None:
        """Mean and interval over the seeds; None where nothing was measured."""
        values = self.measured.get((subject, quantity), ())
        if isinstance(values, Interval):
            return values
        return interval(values) if len(values) else None

    def mean(self, subject: Hashable, quantity: str) -> float | None:
        """Mean over the seeds; None where nothing was measured."""
        score = self.interval(subject, quantity)
        return None if score is None else score.mean

    def means(self, subjects: Iterable[Hashable], quantity: str) -> list[float] | None:
        """Mean of each subject; None where one of them was not measured."""
        return all_known(self.mean(subject, quantity) for subject in subjects)


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
    rows: Iterable[tuple[Hashable, Mapping[str, float]]],
) -> dict[tuple[Hashable, str], list[float]]:
    """Values by subject and quantity, in the order of the runs; what is not a number is left out.

    >>> collect([("nash", {"cost": 2.0}), ("nash", {"cost": 3.0})])
    {('nash', 'cost'): [2.0, 3.0]}
    """
    values: dict[tuple[Hashable, str], list[float]] = {}
    for subject, quantities in rows:
        for quantity, value in quantities.items():
            if not np.isnan(value):
                values.setdefault((subject, quantity), []).append(value)
    return values


# Tables.


def decimals(digits: int, scale: float = 1.0) -> Words:
    """Writes a number with so many digits after the point; shares in percent with a scale of 100.

    >>> decimals(1)(1234.56), decimals(2, 100)(0.1234)
    ('1,234.6', '12.34')
    """
    return lambda value: f"{scale * value:,.{digits}f}"


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
    words: Words = field(default_factory=lambda: decimals(1))
    half: Words | None = None
    """How half of the interval is written; like the value unless given."""
    listed: bool = True
    """Whether it is an entry of this table; else it only repeats one of another."""

    def entry(self, results: Results[Any]) -> Entry | None:
        """Both values; None where nothing was measured."""
        ours = results.interval(self.subject, self.where["quantity"])
        if ours is None:
            return None
        return Entry(where=self.where, ours=ours, paper=self.paper, tolerance=self.tolerance)

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


def about(*quantities: str) -> Callable[[Entry], bool]:
    """Selects entries of these quantities."""
    return lambda entry: entry.where["quantity"] in quantities


Note = str | Reason | Callable[[Sequence[Entry]], Iterable[str]]
"""A sentence, a reason, or a function of the entries that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the paper, or of ours; left out if nothing of it was measured."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[Row]
    notes: Sequence[Note] = ()

    def entries(self, results: Results[Any]) -> Iterator[Entry]:
        """Every value of the table, row by row."""
        for row in self.rows:
            for cell in (*row.cells, *row.unprinted):
                if isinstance(cell, Cell) and cell.listed and (entry := cell.entry(results)):
                    yield entry

    def fill(self, results: Results[Any]) -> shown.Table:
        """The table as it is printed."""
        differing = [entry for entry in self.entries(results) if entry.differs]
        notes = ([note] if isinstance(note, str) else note(differing) for note in self.notes)
        return shown.Table(
            title=self.title,
            header=self.header,
            rows=tuple(filled for row in self.rows for filled in row.fill(results)),
            notes=tuple(chain.from_iterable(notes)),
        )


def legend(limits: str) -> str:
    """How cells are read."""
    return f"Ours with its 95 % interval, the paper's in brackets; * is off by more than {limits}."


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that a paper leaves open, the choice that was made, and what sets it."""

    open: str
    taken: str
    set_by: str = ""


def assumptions(made: Sequence[Assumption], note: str) -> shown.Table:
    """A table of all of them."""
    return shown.Table(
        title=TABLE_OF_ASSUMPTIONS,
        header=("open", "taken", "set by"),
        rows=tuple((a.open, a.taken, a.set_by) for a in made),
        notes=(note,),
    )


# Figures: lines of x and y with a name, in charts with the units of both axes.


def line(name: str, y: Floats, x: Floats | None = None, *, first: float = 0.0) -> Line:
    """A line; counted from `first` on where there is no x."""
    return Line(name=name, x=np.arange(first, len(y) + first) if x is None else x, y=y)


def curve(name: str, x: Sequence[float] | Floats, y: Iterable[float | None]) -> Line:
    """A line through means, with gaps where nothing was measured."""
    values = [np.nan if value is None else value for value in y]
    return Line(name=name, x=np.asarray(x, np.float64), y=np.array(values, np.float64))


def bars(
    title: str, y: str, names: Sequence[str], series: Mapping[str, Iterable[float | None]]
) -> Chart:
    """A group of bars for each name."""
    at = np.arange(float(len(names)))
    lines = tuple(curve(name, at, values) for name, values in series.items())
    return Chart(title=title, x="strategy", y=y, names=tuple(names), lines=lines)


def drawable(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Figures with the charts that have data; those that have none are left out."""
    for figure in figures:
        charts = tuple(c for c in figure.charts if c.lines and np.isfinite(c.lines[0].y).any())
        if charts:
            yield Figure(
                number=figure.number, title=figure.title, charts=charts, notes=figure.notes
            )


# Claims.


@dataclass(frozen=True, slots=True)
class Test:
    """How measured values are judged."""

    __test__ = False  # pytest would collect it by its name
    kind: str
    """`agrees` (both sides), `at least`, `at most`, or `order`."""
    passes: Callable[[Any], bool]


def order(passes: Callable[[Any], bool]) -> Test:
    """Our own values compared with one another."""
    return Test("order", passes)


def at_least(bounds: float | Sequence[float]) -> Test:
    """Every value reaches its bound.

    >>> at_least([1.0, 2.0]).passes([1.0, 2.5]), at_least(3.0).passes([2.0])
    (True, False)
    """
    return Test("at least", lambda values: all(a >= b for a, b in _paired(values, bounds)))


def at_most(bounds: float | Sequence[float]) -> Test:
    """No value is above its bound."""
    return Test("at most", lambda values: all(a <= b for a, b in _paired(values, bounds)))


def between(low: float, high: float) -> Test:
    """Every value lies between both."""
    return Test("agrees", lambda values: all(low <= v <= high for v in _numbers(values)))


def agrees(published: float | Sequence[float], *, within: float, share: bool = False) -> Test:
    """Every value is as near to its published one as that, on either side.

    >>> agrees([100.0], within=0.1, share=True).passes([95.0]), agrees(0.9, within=0.05).passes(0.8)
    (True, False)
    """

    def passes(values: Any) -> bool:
        pairs = _paired(values, published)
        return all(abs(a / b - 1) < within if share else abs(a - b) <= within for a, b in pairs)

    return Test("agrees", passes)


def _numbers(values: Any) -> list[float]:
    if isinstance(values, Mapping):
        return list(values.values())
    return [values] if isinstance(values, float | int) else list(values)


def _paired(values: Any, bounds: float | Sequence[float]) -> Iterator[tuple[float, float]]:
    numbers = _numbers(values)
    each = [bounds] * len(numbers) if isinstance(bounds, float | int) else bounds
    return zip(numbers, each, strict=True)


def falling(values: Sequence[float]) -> bool:
    """Whether each value is less than the one before."""
    return all(after < before for before, after in pairwise(values))


R = TypeVar("R", bound=Results[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Generic[R]):
    """A statement of the paper, or of ours, and how it is tested on the results."""

    text: str
    measured: Callable[[R], Any]
    """The values that it is about; None or nothing where the runs do not show them."""
    test: Test
    found: Callable[[Any], str]
    """What was measured, in words."""

    def answer(self, results: R) -> shown.Claim | None:
        """Whether it holds; None where nothing can be said."""
        values = self.measured(results)
        if values is None or (isinstance(values, Mapping | Sequence) and not values):
            return None
        return shown.Claim(
            text=self.text,
            found=self.found(values),
            holds=bool(self.test.passes(values)),
            kind=self.test.kind,
        )


def listed(values: Iterable[float], digits: int = 1, scale: float = 1.0) -> str:
    """Numbers with commas between them.

    >>> listed([0.5, 0.25], scale=100)
    '50.0, 25.0'
    """
    return ", ".join(map(decimals(digits, scale), values))


# The paper as a whole, and its one runner.


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(Generic[Task, Outcome, R]):
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
    examine: Callable[[Task], Outcome]
    """Runs one task; picklable, and so are tasks and outcomes."""
    shorten: Callable[[Task], Task]
    """A task that compiles the same code and takes no time."""
    gather: Callable[[Options, Sequence[Outcome]], R]
    parameters: Callable[[Options], Mapping[str, Any]]
    remarks: Callable[[Options], Iterable[str]]
    """How it was done."""
    tables: Callable[[R], Iterable[Table | shown.Table]]
    figures: Callable[[R], Iterable[Figure]]
    claims: Sequence[Claim[R]] = field(default=())

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


def simulate(paper: Paper[Task, Outcome, R], options: Options, progress: Progress = silent) -> R:
    """Run every task, in the same order whatever the number of jobs."""
    tasks = list(paper.tasks(options))
    outcomes = repeat(
        paper.examine,
        tasks,
        jobs=options.jobs,
        progress=progress,
        compile_with=paper.shorten(tasks[0]),
    )
    return paper.gather(options, outcomes)


def reproduce(
    paper: Paper[Any, Any, Any], options: Options, progress: Progress = silent
) -> Reproduction:
    """Repeat the experiments of a paper, and compare them with what it printed."""
    return present(paper, simulate(paper, options, progress))


def present(paper: Paper[Any, Any, R], results: R) -> Reproduction:
    """Tables, figures and claims of results."""
    tables = list(paper.tables(results))
    filled = (t.fill(results) if isinstance(t, Table) else t for t in tables)
    entries = (e for t in tables if isinstance(t, Table) for e in t.entries(results))
    answers = (claim.answer(results) for claim in paper.claims)
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        settings=paper.parameters(results.options),
        entries=tuple(entries),
        tables=tuple(table for table in filled if table.rows),
        figures=tuple(paper.figures(results)),
        claims=tuple(answer for answer in answers if answer is not None),
        remarks=tuple(paper.remarks(results.options)),
    )
