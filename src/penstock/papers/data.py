"""A paper as data: what it printed and what is said about it, in the `paper.yaml` of its folder.

The file has the published values; the tables with their headings, how each quantity is written,
notes, and reasons for differences; the claims with their tolerances; and remarks. To correct a
published value, a tolerance or a sentence, change the file. Python beside it computes what is
measured.

A text may name constants of the paper's code, published values, and what was measured:

>>> fill("{seeds:#seed}; {KEPT:.0f%} at {bound:gm} ms", {"seeds": 3, "KEPT": 0.27, "bound": 0.011})
'3 seeds; 27 % at 11 ms'

Formats are those of Python. `%` at the end writes a share in percent; `h`, `m` and `u` write
hundredths, thousandths and millionths without a unit; `#seed` counts seeds. Each value of a list or
a mapping is written:

>>> fill("{0:.1f%}; {1:.2f}", {}, [[0.5, 0.25], {"rl": 0.331, "simple": 0.34}])
'50.0, 25.0 %; 0.33 (rl), 0.34 (simple)'
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from inspect import signature
from string import Formatter
from types import SimpleNamespace
from typing import Any, Final, TypeVar

import numpy as np

from penstock.core import located
from penstock.core.errors import FileError
from penstock.core.settings import read_part
from penstock.core.words import count_of, percent
from penstock.experiment import results as shown
from penstock.experiment.results import Chart, Entry, Figure, Line, Words, small
from penstock.papers.framework import (
    Cell,
    Claim,
    Note,
    Options,
    Paper,
    Reason,
    Row,
    Table,
    Test,
    agrees,
    at_least,
    at_most,
    between,
    curve,
)

FILE: Final = "paper.yaml"
Names = Mapping[str, Any]
"""What a text may name."""
Published = Mapping[str, float | None]
"""By quantity."""
Part = TypeVar("Part")


# Texts.


class _Fields(Formatter):
    """Writes the fields of a text."""

    _SCALES: Final = {"h": 1e2, "m": 1e3, "u": 1e6}

    def format_field(self, value: Any, format_spec: str) -> str:
        """One value, or each of several."""
        if isinstance(value, Mapping):
            return ", ".join(f"{self.format_field(v, format_spec)} ({n})" for n, v in value.items())
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(v, format_spec) for v in value).replace(" %,", ",")
        if format_spec.startswith("#"):
            return count_of(value, format_spec[1:])
        if format_spec.endswith("%"):
            return percent(value, format_spec[:-1] or ".3g")
        scale = self._SCALES.get(format_spec[-1:], 1.0)
        return format(*((value, format_spec) if scale == 1 else (scale * value, format_spec[:-1])))


def fill(text: str, names: Names, values: Any = ()) -> str:
    """A text with its fields; `values` are what was measured, by place or by name."""
    if isinstance(values, Mapping):
        return _Fields().vformat(text, [values], {**names, **{str(k): values[k] for k in values}})
    each = values if isinstance(values, list | tuple) else [values]
    return _Fields().vformat(text, each, {**names, "all": each})


def printed(text: str) -> dict[Any, dict[str, float]]:
    """A table as a paper prints it: columns in the first line, then rows of labels and values.

    >>> printed('''
    ... nodes  edges  share
    ... 20      74.2  0.744
    ... ''')
    {'20': {'edges': 74.2, 'share': 0.744}}

    Of several columns with labels, `|` stands behind the last, and a row is found by all of them.
    """
    header, *lines = (line.split() for line in text.strip().splitlines())
    labels = header.index("|") if "|" in header else 1
    columns, table = [name for name in header[labels:] if name != "|"], {}
    for line in lines:
        numbers = (float(word) if "." in word else int(word) for word in line[labels:])
        name = line[0] if labels == 1 else tuple(line[:labels])
        table[name] = dict(zip(columns, numbers, strict=True))
    return table


# The parts of a file.


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why values differ: printed under a table if a value that it explains differs."""

    text: str
    about: tuple[str, ...] = ()
    """Quantities that it explains; all if none is given."""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Places that it explains, such as the workload."""
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Places that it does not explain."""
    above: str = ""
    """The published value above which it explains ours."""
    when: str = ""
    """The name of what must be true: then it is printed whatever differs."""
    each: str = ""
    """A function of the paper that gives the names of the text for each value that differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table without its values."""

    title: str
    header: tuple[str, ...]
    write: Mapping[str, str] = field(default_factory=dict)
    """How each quantity is written, in the order of the columns."""
    unprinted: Mapping[str, str] = field(default_factory=dict)
    """The same of quantities that are in the JSON only."""
    limits: str = ""
    """What the marks say: by how much values may be off."""
    calibrated: tuple[str, ...] = ()
    """Quantities that settings of ours were fitted to."""
    brief: bool = False
    """Whether intervals have one digit."""
    notes: tuple[str | Mapping[str, Any], ...] = ()
    id: str = ""
    """In the JSON; the name of the table in the file unless given."""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    _notes: tuple[Note, ...] = ()

    def cells(
        self,
        subject: Hashable,
        where: Mapping[str, str],
        paper: Published | None = None,
        only: Iterable[str] | None = None,
        *,
        calibrated: Collection[str] | None = None,
        tolerance: Callable[[str], float] | None = None,
        listed: bool = True,
    ) -> tuple[Cell, ...]:
        """Quantities of a subject, those that are printed unless others are asked for."""
        fitted = self.calibrated if calibrated is None else calibrated
        formats = {**self.unprinted, **self.write}
        usual = self.tolerance.get("any", 0.1)
        return tuple(
            Cell(
                where={"table": self.id, **where, "quantity": quantity},
                subject=subject,
                paper=(paper or {}).get(quantity),
                tolerance=tolerance(quantity) if tolerance else self.tolerance.get(quantity, usual),
                words=writer(formats[quantity]),
                half=small if self.brief else None,
                calibrated=quantity in fitted,
                listed=listed,
            )
            for quantity in (self.write if only is None else only)
        )

    def row(
        self,
        labels: Iterable[str],
        subject: Hashable,
        where: Mapping[str, str],
        paper: Published | None = None,
        **how: Any,
    ) -> Row:
        """A row about one subject."""
        both = (self.cells(subject, where, paper, each, **how) for each in (None, self.unprinted))
        return Row(tuple(labels), *both)

    def table(self, rows: Iterable[Row], *, header: Iterable[str] = ()) -> Table:
        """The table with its rows, and with further columns."""
        names = (*self.header, *header)
        return Table(title=self.title, header=names, rows=list(rows), notes=self._notes)

    def plain(self, rows: Iterable[tuple[str, ...]]) -> shown.Table:
        """A table of texts."""
        notes = tuple(note for note in self._notes if isinstance(note, str))
        return shown.Table(title=self.title, header=self.header, rows=tuple(rows), notes=notes)


@cache
def writer(spec: str) -> Words:
    """How a number is written in a cell.

    >>> writer(",.1f")(1234.56), writer(",.2fh")(0.1234)
    ('1,234.6', '12.34')
    """
    return lambda value: _Fields().format_field(value, spec)


def legend(limits: str) -> str:
    """How cells are read."""
    return f"Ours with its 95 % interval, the paper's in brackets; * is off by more than {limits}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A claim, or one for each of several cases."""

    text: str
    measure: str
    """The function of the paper that gives the values; of an order, or of a limit in words, also
    whether it holds."""
    found: str
    for_: tuple[Mapping[str, Any], ...] = ({},)
    """Cases: names for the text and arguments of the measure, and what else is different."""
    agrees: Any = None
    """Published values, and how far ours may be off: `with` and `within`; or the limit in words."""
    between: tuple[float, float] | None = None
    at_least: Any = None
    """A number, or the limit in words."""
    at_most: Any = None
    calibrated: bool = False
    reason: str = ""

    def test(self, names: Names) -> Test:
        """How values are judged."""
        sided = {"at least": (self.at_least, at_least), "at most": (self.at_most, at_most)}
        for kind, (bound, make) in sided.items():
            if isinstance(bound, str):
                return Test(kind, limit=f"{kind} {fill(bound, names)}")
            if bound is not None:
                return make(bound)
        if self.between is not None:
            return between(*self.between)
        if isinstance(self.agrees, str):
            return Test("agrees", limit=f"agrees{fill(self.agrees, names)}")
        if self.agrees is None:
            return Test("order")
        published, within = (_value(self.agrees[key], names) for key in ("with", "within"))
        return agrees(published, within=within)


def _value(given: Any, names: Names) -> Any:
    """A number, or what a name stands for; of a mapping its values."""
    value = names[given] if isinstance(given, str) else given
    return list(value.values()) if isinstance(value, Mapping) else value


Look = str | Mapping[str, str]
"""Of all charts; or by the title of a chart, of which the end is enough, and of all `other`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure without its lines."""

    title: str
    x: Look = "step"
    """What is counted to the right."""
    y: Look = ""
    """The unit of the values."""
    wide: Look = ""
    """Axes on which each tenfold takes the same room."""
    stepped: bool | tuple[str, ...] = False
    """Whether values hold until the next one; or the charts of which they do."""
    notes: tuple[str | Mapping[str, Any], ...] = ()

    def chart(self, title: str, lines: Iterable[Line]) -> Chart:
        """A chart with its lines."""

        end = title.rpartition(": ")[2]

        def of(look: Look) -> str:
            return look if isinstance(look, str) else look.get(end, look.get("other", ""))

        return Chart(
            title=title,
            x=of(self.x),
            y=of(self.y),
            wide=of(self.wide),
            stepped=end in self.stepped if isinstance(self.stepped, tuple) else self.stepped,
            lines=tuple(lines),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """How it was done, or what is to be said of a figure."""

    text: str
    when: str = ""
    """The name of what must be true, or must not with `not ` before it; always unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What a paper leaves open: what is open, what was taken, and what sets it."""

    note: str
    made: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the file says as it stands."""

    title: str
    seeds: int
    """Repetitions unless given."""
    takes: tuple[str, ...] = ()
    """Options that it has beside seeds and jobs."""
    published: Mapping[str, Any]
    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Share of a published value by which ours may be off; `any` is that of all others."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """In the JSON, by the name of the constant."""
    remarks: tuple[Mapping[str, Any] | str, ...] = ()
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    claims: tuple[Mapping[str, Any], ...] = ()
    assumptions: Mapping[str, Any] = field(default_factory=dict)


_KINDS: Final[Mapping[type, str]] = {
    Contents: "the file",
    Remark: "a remark",
    Sheet: "a table",
    Drawing: "a figure",
    Explanation: "a note",
    Statement: "a claim",
    Assumptions: "assumptions",
}


def facts(options: Options) -> dict[str, Any]:
    """What remarks and settings of every paper may name."""
    return {"seeds": options.seeds, "steps": options.steps, "data": options.data is not None}


class Measures(dict[str, Callable[..., Any]]):
    """The functions that a paper's file names; as a decorator it adds one."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Add a function by its name."""
        self[function.__name__] = function
        return function


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFile:
    """The data of a paper, with the names that its texts may have."""

    contents: Contents
    draft: located.Draft
    names: Names
    measures: Measures = field(default_factory=Measures)

    def using(self, *sources: Names, **more: Any) -> "PaperFile":
        """With the constants of the paper's code, and further names."""
        constants = {n: v for source in sources for n, v in source.items() if n.isupper()}
        return replace(self, names={**constants, **self.names, **more}, measures=Measures())

    def sheet(self, name: str, **names: Any) -> Sheet:
        """A table, with what its texts name besides."""
        known = {**self.names, **names}
        made = self._part(Sheet, self.contents.tables[name], "tables", name)
        notes = [self._note(note, known, name, at) for at, note in enumerate(made.notes)]
        return replace(
            made,
            title=fill(made.title, known),
            header=tuple(fill(text, known) for text in made.header),
            id=made.id or name,
            tolerance=self.contents.tolerance,
            _notes=(*((legend(fill(made.limits, known)),) if made.limits else ()), *notes),
        )

    def _note(self, given: str | Mapping[str, Any], names: Names, table: str, at: int) -> Note:
        if isinstance(given, str):
            return fill(given, names)
        made = self._part(Explanation, given, "tables", table, "notes", at)
        if made.when:
            return lambda _: [fill(made.text, names)] if names[made.when] else []
        if made.each:
            named = self.measures[made.each]
            return lambda differing: [fill(made.text, {**names, **of}) for of in named(differing)]
        bound = _value(made.above, names) if made.above else float("-inf")

        def explains(entry: Entry) -> bool:
            known = not made.about or entry.where["quantity"] in made.about
            here = all(entry.where.get(key) in some for key, some in made.where.items())
            away = any(entry.where.get(key) in some for key, some in made.elsewhere.items())
            return known and here and not away and entry.ours.mean > bound

        return Reason(fill(made.text, names), explains)

    def claims(self) -> tuple[Claim[Any], ...]:
        """Those of the file, each case one."""
        return tuple(claim for at in range(len(self.contents.claims)) for claim in self._cases(at))

    def _cases(self, at: int) -> Iterator[Claim[Any]]:
        given = dict(self.contents.claims[at])
        whole = self._part(Statement, given, "claims", at)
        for case in whole.for_:
            own = {key: case[key] for key in case if key in _OWN}
            made = self._part(Statement, {**given, **own}, "claims", at)
            yield self._claim(made, {key: case[key] for key in case if key not in own})

    def _claim(self, made: Statement, case: Mapping[str, Any]) -> Claim[Any]:
        names = {**self.names, **case}
        measure = self.measures[made.measure]
        asked = {name: case[name] for name in signature(measure).parameters if name in case}
        return Claim(
            text=fill(made.text, names),
            measured=lambda results: measure(results, **asked),
            test=made.test(names),
            found=lambda values: fill(made.found, names, values),
            calibrated=made.calibrated,
            reason=fill(made.reason, names),
        )

    def remarks(self, facts: Names) -> Iterator[str]:
        """Those that go with the options."""
        return self._said(self.contents.remarks, facts, "remarks")

    def _said(
        self, remarks: Iterable[str | Mapping[str, Any]], names: Names, *path: str
    ) -> Iterator[str]:
        known = {**self.names, **names}
        for at, given in enumerate(remarks):
            whole = {"text": given} if isinstance(given, str) else given
            remark = self._part(Remark, whole, *path, at)
            word = remark.when.removeprefix("not ")
            if not word or bool(known[word]) == (word == remark.when):
                yield fill(remark.text, known)

    def figure(self, number: str, charts: Mapping[str, Iterable[Line]], **names: Any) -> Figure:
        """A figure, by the title of each chart its lines."""
        made = self._part(Drawing, self.contents.figures[number], "figures", number)
        return Figure(
            number=number,
            title=fill(made.title, {**self.names, **names}),
            charts=tuple(made.chart(title, lines) for title, lines in charts.items()),
            notes=tuple(self._said(made.notes, names, "figures", number, "notes")),
        )

    def bars(
        self,
        number: str,
        title: str,
        names: Sequence[str],
        series: Mapping[str, Iterable[float | None]],
    ) -> Figure:
        """A figure with a group of bars for each name; its own title stands for an empty one."""
        at = np.arange(float(len(names)))
        drawn = self.figure(number, {title: (curve(n, at, each) for n, each in series.items())})
        [chart] = drawn.charts
        bars = replace(chart, title=title or drawn.title, names=tuple(names))
        return replace(drawn, charts=(bars,))

    def settings(self, facts: Names) -> dict[str, Any]:
        """For the JSON."""
        known = {**self.names, **facts}
        return {key: known[name] for key, name in self.contents.settings.items()}

    def assumptions(self) -> shown.Table:
        """What the paper leaves open, and what was taken."""
        made = self._part(Assumptions, self.contents.assumptions, "assumptions")
        return shown.Table(
            title="What the paper leaves open, and what was taken",
            header=("open", "taken", "set by"),
            rows=tuple(tuple(fill(text, self.names) for text in row) for row in made.made),
            notes=(fill(made.note, self.names),),
        )

    def paper(
        self, name: str, *, facts: Callable[[Options], Names] = facts, **code: Any
    ) -> Paper[Any, Any]:
        """The paper, from the functions of its code; `facts` are what texts name of a run."""
        return Paper(
            name=name,
            title=self.contents.title,
            seeds=self.contents.seeds,
            takes=frozenset(self.contents.takes),
            settings=lambda options: self.settings(facts(options)),
            remarks=lambda options: self.remarks(facts(options)),
            claims=self.claims(),
            **code,
        )

    def _part(self, part: type[Part], given: Mapping[str, Any], *path: str | int) -> Part:
        return _read(part, given, self.draft, *path)


_OWN: Final = frozenset(f.name for f in fields(Statement))
"""What a case of a claim may have for itself."""


@cache
def read_paper(package: str) -> PaperFile:
    """The data of the paper whose package this is."""
    text = (resources.files(package) / FILE).read_text(encoding="utf-8")
    return read_text(text, name=f"{package.rpartition('.')[2]}/{FILE}")


def read_text(text: str, *, name: str) -> PaperFile:
    """The data of a paper; raises FileError with the line of a mistake."""
    draft = located.read(text, name=name)
    for mistake in draft.mistakes:  # a key that stands twice
        raise FileError(str(mistake))
    contents = _read(Contents, draft.value, draft)
    values = {name: _published(value) for name, value in contents.published.items()}
    return PaperFile(contents=contents, draft=draft, names=values)


def _published(value: Any) -> Any:
    """A table, or a value as it stands; what is found by a number has that as its key."""
    if isinstance(value, Mapping):
        return {int(key) if key.isdigit() else key: item for key, item in value.items()}
    return printed(value) if isinstance(value, str) else value


def published(package: str) -> SimpleNamespace:
    """The published values of the paper whose package this is, by name."""
    return SimpleNamespace(**read_paper(package).names)


def _read(
    part: type[Part], given: Mapping[str, Any], draft: located.Draft, *path: str | int
) -> Part:
    """A part of the file; raises FileError with the line of the first mistake."""
    name = _KINDS[part]
    made, mistakes = read_part(part, given, of=name, fixed={}, where="in a file")
    for inside, why in mistakes:
        raise FileError(f"{draft.place((*path, *inside))}: {why}")
    if made is None:
        raise FileError(f"{draft.place(path)}: it does not make {name}")
    return made


def column(rows: Mapping[Any, Mapping[str, float]], quantity: str) -> list[float]:
    """One quantity of all rows of a published table."""
    return [row[quantity] for row in rows.values()]
