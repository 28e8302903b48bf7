"""Graphs in files: mistakes are reported with their module and line."""

import re
from pathlib import Path

import pytest

from penstock.cli.validate import examine
from penstock.core.errors import FileError
from penstock.core.located import MOST_VALUES, read
from penstock.pipeline.file import load

GRAPH = """\
step: 300s
source: {module: a, inter_arrival: 0.5s}
modules:
  a: {service_time: 0.1s, price: 1, delay_cost: 1}
  b: {service_time: 1s, price: 2, delay_cost: 1}
  c: {service_time: 1s, price: 3, delay_cost: 1}
streams:
  - {from: a, to: b, probability: 0.5}
  - {from: a, to: c, probability: 0.5}
"""


def mistakes(folder: Path, text: str) -> list[tuple[int, str]]:
    """Line and sentence of every mistake that `penstock validate` tells."""
    path = folder / "job.yaml"
    path.write_text(text)
    found = examine(str(path), [])["mistakes"]
    return [(one["line"], one["message"].partition(": ")[2]) for one in found]


@pytest.mark.parametrize(
    ("right", "wrong", "line", "message"),
    [
        ("to: c, probability: 0.5", "to: c, probability: 0.4", 8, "streams from a must sum to 1"),
        ("to: c, probability: 0.5", "to: c, probability: -1", 9, "probability of stream a -> c"),
        ("to: c, probability: 0.5", "to: c, probability: 2", 9, "probability of stream a -> c"),
        ("b: {service_time: 1s", "b: {service_time: -1s", 5, "service_time of module b"),
        ("price: 2", "price: -2", 5, "price of module b must be 0 to 1,000,000,000, got -2"),
        ("price: 3, delay_cost: 1", "delay_cost: -1", 6, "delay_cost of module c must be 0 to"),
        ("module: a", "module: b", 8, "source b is fed by module a"),
        ("streams:", "  d:\nstreams:", 7, "no row can reach module d from a"),
        ("price: 2", "scaling: log", 5, "scaling of module b must be ideal, saturating"),
        (
            "price: 2",
            "scaling: minimum",
            5,
            "scaling minimum of module b needs best_replicas; add it",
        ),
        ("price: 2", "best_replicas: 4", 5, "best_replicas of module b .*; leave it out"),
        (
            "price: 2",
            "scaling: measured, speedup: [1, 1.1, 3]",
            5,
            "speedup of module b must save less time with every replica",
        ),
    ],
)
def test_what_no_row_could_cross_is_reported_with_its_line(
    tmp_path: Path, right: str, wrong: str, line: int, message: str
) -> None:
    ((found, sentence),) = mistakes(tmp_path, GRAPH.replace(right, wrong))
    assert found == line
    assert re.search(message, sentence)


def test_a_second_source_is_reported_at_its_module(tmp_path: Path) -> None:
    text = GRAPH.replace("streams:", "  d: {service_time: 1s}\nstreams:") + "  - {from: d, to: b}\n"
    ((line, sentence),) = mistakes(tmp_path, text)
    assert line == 7
    assert sentence.startswith("no row can reach module d from a: no stream leads to d")


def test_a_cycle_is_reported_at_one_of_its_streams(tmp_path: Path) -> None:
    more = "  d: {service_time: 1s}\nstreams:"
    text = GRAPH.replace("streams:", more).replace("  - {from: a, to: c, probability: 0.5}\n", "")
    text += "  - {from: d, to: b}\n  - {from: c, to: d}\n  - {from: b, to: c}\n"
    (first, (line, sentence)) = mistakes(tmp_path, text)
    assert first == (9, "the probabilities of the streams from a must sum to 1, got 0.5")
    assert line == 12
    assert sentence == "the streams form a cycle: d -> b -> c -> d; remove one of them"


@pytest.mark.parametrize("policy", ["nash", "incentive", "social"])
def test_a_game_without_times_or_prices_is_reported_at_the_modules_that_lack_them(
    tmp_path: Path, policy: str
) -> None:
    text = GRAPH.replace("price: 2", "price: 0").replace(
        "c: {service_time: 1s", "c: {service_time: 0s"
    )
    first, second = mistakes(tmp_path, f"{text}policy: {policy}\n")
    assert first[0] == 5
    assert first[1].startswith("price of module b must be above 0 and finite")
    assert second[0] == 6
    assert second[1].startswith("service_time of module c must be above 0 and finite")


def test_a_stream_given_twice_is_reported_at_the_second(tmp_path: Path) -> None:
    ((line, sentence),) = mistakes(tmp_path, GRAPH + "  - {from: a, to: c, probability: 0.5}\n")
    assert (line, sentence[:27]) == (10, "stream a -> c is given 2 ti")


def test_modules_may_have_the_names_of_words_in_a_message(tmp_path: Path) -> None:
    text = GRAPH.replace("b:", "sum:").replace("to: b", "to: sum").replace("to: c,", "to: must,")
    text = text.replace("  c:", "  must:").replace("sum, probability: 0.5", "sum, probability: 0.4")
    ((line, _),) = mistakes(tmp_path, text + "  - {from: sum, to: must}\n")
    assert line == 8


def test_how_a_module_scales_is_read_from_its_settings(tmp_path: Path) -> None:
    text = GRAPH.replace("price: 1", "scaling: minimum, best_replicas: 6.5")
    text = text.replace("price: 2", "scaling: measured, speedup: [1, 1.9, 2.5]")
    (tmp_path / "job.yaml").write_text(text)
    file = load(tmp_path / "job.yaml")
    assert (file.graph["a"].scaling, file.graph["a"].best_replicas) == ("minimum", 6.5)
    assert file.graph["b"].speedup == (1.0, 1.9, 2.5)
    assert file.graph["c"].scaling == "ideal"
    assert file.resolved["modules"]["b"]["speedup"] == [1.0, 1.9, 2.5]


def test_many_streams_to_nowhere_are_all_reported(tmp_path: Path) -> None:
    """Each is compared with nothing: with 500 modules and as many mistakes that would take long."""
    modules = "".join(f"  m{i}: {{service_time: 1s}}\n" for i in range(500))
    streams = "".join(f"  - {{from: m{i}, to: x{i}}}\n" for i in range(500))
    text = f"source: {{module: m0, rate: 1/s}}\nmodules:\n{modules}streams:\n{streams}"
    found = mistakes(tmp_path, text)
    assert len(found) == 500
    assert found[0][0] == 504
    assert found[0][1].startswith("there is no module 'x0'; there are m0, m1, m10, m100")
    assert found[0][1].endswith(" and 490 more")


def test_a_file_may_hold_any_number_of_values_that_it_writes_down() -> None:
    many = ", ".join(["1"] * (MOST_VALUES + 10))
    assert len(read(f"a: [{many}]", name="job.yaml").value["a"]) == MOST_VALUES + 10


def test_nesting_too_deep_ends_in_a_sentence() -> None:
    for text in ("[" * 100_000, "{a: " * 100_000, "- " * 20_000):
        with pytest.raises(FileError, match="nests its values too deeply"):
            read(text, name="job.yaml")
