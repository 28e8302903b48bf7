"""Allocation graphs as files: what they say, and every mistake with its line."""

import random
from math import inf
from pathlib import Path

import pytest

from penstock.core.errors import FileError
from penstock.pipeline.file import check, load_allocation
from penstock.pipeline.format.allocation import AllocationGraph
from penstock.policy.allocation.network import Inflow, Link, Network, Outflow
from tests.conftest import Write
from tests.support.pipeline_files import GRAPH


def mistakes(path: Path, *overrides: str) -> list[str]:
    return [str(mistake).replace(f"{path}, ", "") for mistake in check(path, overrides).mistakes]


def changed(*changes: tuple[str, str]) -> str:
    text = GRAPH
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


class TestWhatAFileSays:
    def test_the_network_is_what_the_file_says(self, write: Write) -> None:
        assert load_allocation(write(GRAPH)).network == Network(
            budget=1.0,
            modules=("a", "b", "c"),
            inflows=(Inflow(name="s", target="a", consumes=0.3, rate=inf),),
            links=(
                Link(origin="a", target="b", produces=0.7, consumes=0.4),
                Link(origin="a", target="c", produces=0.2, consumes=0.9),
            ),
            outflows=(
                Outflow(name="o1", origin="b", produces=0.9, weight=0.3),
                Outflow(name="o2", origin="c", produces=0.5, weight=1.0),
            ),
        )

    def test_what_is_left_out_has_its_default(self, write: Write) -> None:
        text = changed(("budget: 1.0\n", ""), ("rate: inf, ", ""), (", weight: 0.3", ""))
        network = load_allocation(write(text)).network
        assert (network.budget, network.inflows[0].rate) == (1.0, inf)
        assert network.outflows[0].weight == 1.0

    @pytest.mark.parametrize(
        ("written", "rate"), [("3", 3.0), ("120/min", 2.0), ("1e-9", 1e-9), (".inf", inf)]
    )
    def test_a_rate_is_a_number_with_or_without_its_unit(
        self, write: Write, written: str, rate: float
    ) -> None:
        graph = load_allocation(write(GRAPH), [f"sources.s.rate={written}"])
        assert graph.network.inflows[0].rate == rate

    def test_names_may_be_numbers(self, write: Write) -> None:
        text = changed(("{a: {}, b", "{1: {}, b"), ("to: a}}", "to: 1}}"), ("to: a,", "to: 1,"))
        text = text.replace("from: a,", "from: 1,")
        assert load_allocation(write(text)).network.modules == ("1", "b", "c")

    def test_a_setting_changes_the_file(self, write: Write) -> None:
        settings = ["budget=2", "streams.1.produces=7", "sinks.o2.weight=5"]
        network = load_allocation(write(GRAPH), settings).network
        assert (network.budget, network.links[0].produces) == (2.0, 7.0)
        assert network.outflows[1].weight == 5.0

    def test_a_module_that_leads_nowhere_is_no_mistake(self, write: Write) -> None:
        more = changed(("c: {}}", "c: {}, d: {}}"))
        more = more.replace("sinks:", "  - {from: a, to: d, produces: 1, consumes: 1}\nsinks:")
        assert "d" in load_allocation(write(more)).network.modules

    def test_a_graph_in_two_pieces_is_no_mistake(self, write: Write) -> None:
        more = changed(
            ("to: a}}", "to: a}, t: {to: d}}"),
            ("c: {}}", "c: {}, d: {}}"),
            ("sinks:", "  - {from: t, to: d, consumes: 1}\nsinks:\n  o3: {from: d, produces: 1}"),
        )
        assert len(load_allocation(write(more)).network.inflows) == 2

    def test_another_file_is_no_allocation_graph(self) -> None:
        with pytest.raises(FileError, match="is no allocation graph; give it a budget"):
            load_allocation("wordcount")


@pytest.mark.parametrize("value", ["0", "-1", "nan", ".nan", "much", "[1]", "true", "-inf"])
@pytest.mark.parametrize(
    ("old", "key", "line"),
    [
        ("budget: 1.0", "budget", 1),
        ("rate: inf", "rate", 2),
        ("consumes: 0.3", "consumes", 5),
        ("produces: 0.7", "produces", 6),
        ("consumes: 0.9", "consumes", 7),
        ("produces: 0.9", "produces", 9),
        ("weight: 1.0", "weight", 10),
    ],
)
def test_an_amount_is_above_zero(write: Write, old: str, key: str, line: int, value: str) -> None:
    [mistake] = mistakes(write(changed((old, f"{key}: {value}"))))
    assert mistake.startswith(f"line {line}: {key} of ")
    assert " must be a number, got " in mistake or " must be above 0" in mistake
    assert ", got " in mistake


@pytest.mark.parametrize("key", ["budget", "sources.s.rate", "sinks.o2.weight"])
def test_an_amount_is_not_left_open(write: Write, key: str) -> None:
    [mistake] = mistakes(write(GRAPH), f"{key}=")
    assert mistake.endswith("got nothing")


@pytest.mark.parametrize("key", ["budget", "sinks.o1.weight", "sinks.o1.produces"])
def test_only_rates_may_be_without_end(write: Write, key: str) -> None:
    [mistake] = mistakes(write(GRAPH), f"{key}=inf")
    assert "must be above 0 and finite, got inf" in mistake


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        (
            [("to: c, produces: 0.2", "to: b, produces: 0.2")],
            [
                "line 3: nothing feeds module c; add a source for it, or a stream from another "
                "module",
                "line 7: stream a -> b is given twice; remove one of them",
            ],
        ),
        (
            [("from: a, to: c", "from: c, to: c")],
            ["line 7: stream c -> c leads back to where it begins; remove it"],
        ),
        (
            [("sinks:", "  - {from: c, to: a, produces: 1, consumes: 1}\nsinks:")],
            ["line 8: the streams form a cycle: a -> c -> a; remove one of them"],
        ),
        (
            [("to: a}}", "to: b}}")],
            ["line 5: stream s -> a leads elsewhere than source s says `to: b`; make them agree"],
        ),
        (
            [("  - {from: s, to: a, consumes: 0.3}\n", "")],
            ["line 2: no stream leaves source s; add {from: s, to: a, consumes: 1.0} to streams"],
        ),
        (
            [(", consumes: 0.3", "")],
            [
                "line 5: stream s -> a needs consumes, the flow that a unit of resource of a takes "
                "from s"
            ],
        ),
        (
            [("consumes: 0.3", "produces: 1, consumes: 0.3")],
            [
                "line 5: stream s -> a comes from a source, which has no resource; leave produces "
                "out"
            ],
        ),
        (
            [("produces: 0.7, consumes: 0.4", "")],
            [
                "line 6: stream a -> b needs consumes, the flow that a unit of resource of b takes "
                "from a",
                "line 6: stream a -> b needs produces, the flow that a unit of resource of a "
                "produces for b",
            ],
        ),
        (
            [("{a: {}, b", "{s: {}, a: {}, b")],
            ["line 2: there is a module s already; give the source another name"],
        ),
        (
            [("o1: {", "b: {")],
            ["line 9: there is a module b already; give the sink another name"],
        ),
        (
            [("o1: {", "s: {")],
            ["line 9: there is a source s already; give the sink another name"],
        ),
        (
            [("o1: {from: b", "o1: {from: s")],
            ["line 9: s is a source; a sink takes from a module"],
        ),
        (
            [("from: a, to: c", "from: a, to: o2")],
            [
                "line 7: o2 is a sink; a stream leads to a module, and a sink names its own under "
                "`from`"
            ],
        ),
        ([("to: b,", "to: bb,")], ["line 6: there is no module 'bb'; did you mean 'b'?"]),
        (
            [("a: {}, b", "a: {cores: 2}, b")],
            ["line 3: module a has no setting 'cores'; it takes none"],
        ),
        (
            [("{from: a, to: c, produces: 0.2, consumes: 0.9}", "a to c")],
            ["line 7: a stream must be"],
        ),
        ([("o1: {from: b, produces: 0.9, weight: 0.3}", "o1: b")], ["line 9: sink o1 must be a"]),
        (
            [("from: b, produces: 0.9", "weights: 2")],
            [
                "line 9: sink o1 has no setting 'weights'",
                "line 9: sink o1 needs a value for from, p",
            ],
        ),
    ],
)
def test_what_does_not_fit_together_is_reported_with_its_line(
    write: Write, changes: list[tuple[str, str]], messages: list[str]
) -> None:
    found = mistakes(write(changed(*changes)))
    for one, start in zip(found, messages, strict=True):
        assert one.startswith(start)


def test_what_only_follows_from_a_mistake_is_not_reported(write: Write) -> None:
    [mistake] = mistakes(write(GRAPH), "sources.s.to=[a]")
    assert mistake.endswith("to of source s must be a text, got ['a']")


@pytest.mark.parametrize("section", ["sources", "modules", "streams", "sinks"])
@pytest.mark.parametrize("empty", ["", "{}", "[]"])
def test_an_empty_section_is_reported_once(write: Write, section: str, empty: str) -> None:
    [mistake] = mistakes(write(GRAPH), f"{section}={empty}")
    assert f"{section} is missing; write {section}: " in mistake or "must be a" in mistake


def test_every_cycle_is_reported(write: Write) -> None:
    more = changed(("c: {}}", "c: {}, d: {}, e: {}}"))
    for pair in (("c", "a"), ("b", "d"), ("d", "b"), ("d", "e")):
        stream = f"  - {{from: {pair[0]}, to: {pair[1]}, produces: 1, consumes: 1}}\nsinks:"
        more = more.replace("sinks:", stream)
    assert [one.partition("cycle: ")[2] for one in mistakes(write(more))] == [
        "a -> c -> a; remove one of them",
        "b -> d -> b; remove one of them",
    ]


def test_a_mistake_of_a_setting_is_reported_as_the_setting(write: Write) -> None:
    path = write(GRAPH)
    [mistake] = mistakes(path, "budget=0")
    assert mistake == f"{path} with budget=0: budget of the allocation graph must be above 0, got 0"


def test_thousands_of_mistakes_are_found_before_long(write: Write) -> None:
    many = range(3_000)
    text = "sources: {s: {to: m0}}\nmodules:\n"
    text += "".join(f"  m{i}: {{}}\n" for i in many)
    text += "streams:\n  - {from: s, to: m0, consumes: 1}\n"
    text += "".join(f"  - {{from: m{i}, to: n{i}, produces: 1, consumes: 0}}\n" for i in many)
    text += "sinks: {o: {from: m0, produces: 1}}\n"
    assert len(mistakes(write(text))) == 6_000


def test_nothing_that_stands_in_a_file_brings_it_down(write: Write) -> None:
    chance = random.Random(7)
    words = [
        "",
        "0",
        "a",
        "[a]",
        "{a: b}",
        "~",
        "inf",
        "{from: a}",
        "[{from: [], to: {}}]",
        "1e400",
    ]
    places = ["budget", "sources", "sources.s", "sources.s.to", "modules", "modules.a", "streams"]
    places += ["streams.0", "streams.1.from", "sinks", "sinks.o1", "sinks.o1.from", "policy"]
    path = write(GRAPH)
    for _ in range(300):
        place, word = chance.choice(places), chance.choice(words)
        found = check(path, [f"{place}={word}"])
        assert found.mistakes or isinstance(found.graph, AllocationGraph)
        assert all("\n" not in str(mistake) for mistake in found.mistakes)
