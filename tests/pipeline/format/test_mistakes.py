"""Every mistake of a pipeline file is reported in one sentence with its line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import FileError
from penstock.pipeline.file import check, load
from penstock.pipeline.format.find import LARGEST
from tests.conftest import Write
from tests.support.pipeline_files import WORDCOUNT, line_of, mistakes, refused_or_read


class TestMistakes:
    @pytest.mark.parametrize(
        ("right", "wrong", "message"),
        [
            (
                "service_time: 3ms",
                "service_time: 3",
                "service_time of module splitter needs a unit, got 3; write 3s, 3ms or 3m",
            ),
            ("slo:", "sloo:", "a pipeline file has no section 'sloo'; did you mean 'slo'?"),
            ("step: 2s", "step: 0s", "step of the pipeline must be above 0s"),
            ("step: 2s", "step: 1:30", "cannot read the duration '1:30'"),
            ("step: 2s", "step: on", "cannot read the duration 'on'"),
            ("duration: 60s", "duration: 1s", "is 1 s, shorter than its step of 2 s"),
            ("seed: 1", "seed: -1", "seed of the pipeline must be 0 or more, got -1"),
            ("kind: daily", "kind: dayly", "there is no workload 'dayly'; did you mean 'daily'?"),
            ("high: 300/s", "high: 300", "high of workload daily needs a unit, got 300"),
            ("noise: 0.05", "noise: -1", "noise of workload daily must be 0 or more, got -1"),
            ("noise: 0.05", "nose: 0.05", "workload daily has no setting 'nose'"),
            ("latency_p95: 10s", "latency_p95: 0s", "latency_p95 of slo must be above 0"),
            ("name: threshold", "name: x", "there is no policy 'x'; there are "),
            ("name: threshold", "nam: x", "policy needs name; there are "),
            (
                "name: threshold",
                "name: static, degrees: {countr: 2}",
                "there is no module 'countr'; did you mean 'counter'?",
            ),
            ("- hold", "- hodl", "there is no guard 'hodl'; did you mean 'hold'?"),
            ("out: 4s", "out: 4", "out of guard cooldown needs a unit, got 4"),
            ("out: 4s", "oot: 4s", "guard cooldown has no setting 'oot'; did you mean 'out'?"),
            ("workers: 2", "workers: two", "workers of cluster must be a whole number, got 'two'"),
            ("workers: 2", "port: 70000", "port of cluster must be 0 to 65,535, got 70,000"),
            ("memory: 512m", "memory: 100m", "executor_memory of cluster must be at least 450m"),
            ("memory: 512m", "memory: 9g", "more than a worker has; raise memory, which is 8g"),
            (
                " memory: 8g",
                " memory: 8",
                "memory of cluster must be a size with its unit, such as 512m",
            ),
            ("module: splitter", "module: spliter", "there is no module 'spliter'; did you mean"),
            ("to: counter", "to: countr", "there is no module 'countr'; did you mean 'counter'?"),
            ("to: counter, s", "s", "stream splitter -> ? needs a value for to"),
            (
                "selectivity: 2",
                "selectivity: 0",
                "of stream splitter -> counter must be above 0",
            ),
            ("selectivity: 2", "probability: 0.5", "from splitter must sum to 1, got 0.5"),
            ("to: counter", "to: splitter", "the streams form a cycle: splitter -> splitter"),
            ("[splitter, filter]", "[splitter, fliter]", "no operator 'fliter'; did you mean"),
            ("pipeline: w", "pipeline: v", "there is no pipeline 'vordcount'; did you mean"),
            (
                "max_replicas: 4",
                "keys: 10",
                "module splitter has keys, and splitter does not work by key; leave keys out",
            ),
        ],
    )
    def test_a_mistake_is_reported_with_the_line_it_stands_on(
        self, write: Write, right: str, wrong: str, message: str
    ) -> None:
        assert WORDCOUNT.count(right) >= 1
        found = mistakes(write(WORDCOUNT.replace(right, wrong, 1)))
        assert len(found) == 1
        assert found[0].startswith(f"job.yaml, line {line_of(WORDCOUNT, right)}: ")
        assert message in found[0]

    def test_all_mistakes_are_found_in_the_order_of_the_file(self, write: Write) -> None:
        wrong = {"step: 2s": "step: 2", "- hold": "- hodl", "trigger: 1s": "triger: 1s"}
        text = WORDCOUNT
        for before, after in wrong.items():
            text = text.replace(before, after, 1)
        lines = [line_of(WORDCOUNT, before) for before in wrong]
        assert [mistake.place.line for mistake in check(write(text)).mistakes] == lines
        with pytest.raises(
            FileError, match=r"needs a unit.* \(and 2 more, listed by `penstock val"
        ):
            load(write(text))

    def test_ends_of_streams_are_not_missed_where_modules_are_unreadable(
        self, write: Write
    ) -> None:
        text = "source: {module: a, rate: 2/s}\nmodules: [a, b]\nstreams: [{from: a, to: b}]\n"
        assert len(mistakes(write(text))) == 1

    @pytest.mark.parametrize("section", ["source", "modules", "workload"])
    def test_a_missing_section_is_named(self, write: Write, section: str) -> None:
        sections = json.loads(json.dumps(load("wordcount").resolved))
        del sections[section]
        assert any(
            f"{section} is missing" in mistake for mistake in mistakes(write(json.dumps(sections)))
        )

    @pytest.mark.parametrize(
        "section",
        ["source", "modules", "streams", "guards", "policy", "workload", "slo", "cluster"],
    )
    @pytest.mark.parametrize("value", ["[1, [2]]", "{x: {y: 1}}", "5", "text", "true"])
    def test_a_section_of_the_wrong_shape_is_reported_at_its_line(
        self, section: str, value: str
    ) -> None:
        checked = check("wordcount", [f"{section}={value}"])
        assert checked.mistakes
        assert any(f"with {section}=" in str(mistake) for mistake in checked.mistakes)

    def test_a_key_that_stands_twice_is_a_mistake(self, write: Write) -> None:
        found = mistakes(write(WORDCOUNT + "step: 5s\n"))
        last = WORDCOUNT.count("\n") + 1
        first = line_of(WORDCOUNT, "step: 2s")
        assert found == [
            f"job.yaml, line {last}: step already stands on line {first}; remove one of them"
        ]

    def test_a_workload_and_a_rate_contradict_each_other(self, write: Write) -> None:
        found = mistakes(
            write(WORDCOUNT.replace("module: splitter", "module: splitter, rate: 2/s"))
        )
        assert "there is a workload and a rate of source; keep one" in found[0]

    def test_a_cycle_is_shown_with_the_first_stream_in_it(self, write: Write) -> None:
        found = mistakes(write(WORDCOUNT + "  - {from: counter, to: splitter}\n"))
        assert len(found) == 1
        assert "cycle: splitter -> counter -> splitter; remove one of them" in found[0]

    def test_a_module_that_no_row_reaches_is_shown_at_its_line(self, write: Write) -> None:
        text = "source: {module: a, rate: 2/s}\nmodules:\n  a:\n  b:\n"
        found = mistakes(write(text))
        assert len(found) == 1
        assert found[0].startswith("job.yaml, line 4: no row can reach module b from a")

    def test_operators_must_be_covered_in_their_order(self, write: Write) -> None:
        found = mistakes(write(WORDCOUNT.replace("[splitter, filter]", "[filter, splitter]")))
        assert "must run splitter, filter, counter, consumer in this order" in found[0]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "job.yaml is empty; a pipeline file has at least source and modules"),
            ("# nothing\n", "job.yaml is empty"),
            ("- a\n", "job.yaml must be a mapping with source, modules and streams, got a list"),
            ("a: [1\nb: 2\n", "job.yaml, line 2: YAML breaks off here"),
            ("a:\n\tb: 1\n", "job.yaml, line 2: YAML breaks off here (found character '\\t'"),
            ("a: 'x\n", "close the quotes"),
            ("a: 1\n---\nb: 2\n", "keep one document a file"),
            ("a: *b\n", "define it with & before it is used with *"),
            ("a: &a [*a]\n", "job.yaml, line 1: an alias stands inside itself"),
            ("? [a]\n: 1\n", "job.yaml, line 1: a key must be a word"),
            ("[" * 1000, "job.yaml nests its values too deeply"),
            ("a: \0\n", "job.yaml, line 1: this is not text; a pipeline file is YAML in UTF-8"),
        ],
    )
    def test_a_file_that_is_not_yaml_is_reported_in_a_sentence(
        self, write: Write, text: str, message: str
    ) -> None:
        path = write(text)
        with pytest.raises(FileError) as error:
            check(path)
        assert message in str(error.value).replace(str(path), "job.yaml")
        assert "\n" not in str(error.value)

    def test_a_file_that_is_no_pipeline_file_by_its_size_is_not_read(self, write: Write) -> None:
        with pytest.raises(FileError, match=f"has more than {LARGEST} bytes"):
            check(write("#" * (LARGEST + 1)))

    def test_aliases_cannot_unfold_to_billions(self, write: Write) -> None:
        text = "a0: &a0 [x]\n"
        for i in range(9):
            text += f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n"
        with pytest.raises(FileError, match="unfolds to more than 100000 values"):
            check(write(text))

    def test_rubbish_is_refused_with_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "job.yaml"
        path.write_bytes(b"a: 1\n\xff\xfe\x00")
        with pytest.raises(FileError, match="line 2: this is not text"):
            check(path)

    def test_a_missing_file_suggests_the_one_that_was_meant(self, write: Write) -> None:
        path = write(WORDCOUNT)
        with pytest.raises(FileError, match=r"there is no file .*/jbo.yaml; did you mean .*/job"):
            check(path.with_name("jbo.yaml"))

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="is a folder; give a file in it"):
            check(tmp_path)

    def test_a_name_that_is_not_built_in_suggests_one_that_is(self) -> None:
        with pytest.raises(FileError, match="no built-in pipeline 'wordcont'; did you mean 'word"):
            load("wordcont")

    @given(text=st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin-1")))
    def test_no_text_does_more_than_be_refused(
        self, tmp_path_factory: pytest.TempPathFactory, text: str
    ) -> None:
        refused_or_read(tmp_path_factory.getbasetemp() / "any.yaml", text)

    @given(data=st.data())
    def test_damage_to_a_file_is_reported_and_does_no_more(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        start = data.draw(st.integers(0, len(WORDCOUNT)))
        end = data.draw(st.integers(start, min(start + 40, len(WORDCOUNT))))
        junk = data.draw(
            st.sampled_from(["", "5", "[]", "{}", "null", ": ", "- ", "\n", "nan", "-1s"])
        )
        path = tmp_path_factory.getbasetemp() / "damaged.yaml"
        refused_or_read(path, WORDCOUNT[:start] + junk + WORDCOUNT[end:])


ODD = [None, True, -1, 2.5, "x", "3s", [], [1], [[1]], {}, {"x": 1}, {"name": "rl"}, 10**30]


def places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values inside a value."""
    if not isinstance(value, dict | list):
        return [at]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [at, *(path for key, item in items for path in places(item, (*at, key)))]


@given(data=st.data(), name=st.sampled_from(["recognition", "wordcount-regions", "shared"]))
def test_no_odd_value_does_more_than_be_reported(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    whole = json.loads(json.dumps(load(name).resolved))
    for _ in range(data.draw(st.integers(1, 3))):
        *outer, key = data.draw(st.sampled_from(places(whole)[1:]))
        inside = whole
        for step in outer:
            inside = inside[step]
        inside[key] = json.loads(json.dumps(data.draw(st.sampled_from(ODD))))
    refused_or_read(tmp_path_factory.getbasetemp() / "odd.yaml", json.dumps(whole))


TWENTY = """\
pipelin: wordcount
pipeline: wordcont
step: 5
duration: -3s
seed: x
slo: {latency_p95: 0s, latency_p99: 3s}
policy: {name: threshold, foo: 2}
guards: [hodl, {cooldown: {seconds: 3}}, 7, {clamp: {low: 0}}]
cluster: {workers: 0, memory: 512, port: 99999}
source: {module: splitter, rate: 600}
workload: {kind: constnt, rate: 3}
modules:
  splitter: {service_time: 3, max_replica: 4}
  counter: {service_time: -1ms, selectivity: many, buffer: 0}
  1bad: {}
streams:
  - {from: splitter, to: nothing}
  - {from: counter}
"""
EXPECTED = """\
1: a pipeline file has no section 'pipelin'; did you mean 'pipeline'?
2: there is no pipeline 'wordcont'; did you mean 'wordcount'?
3: step of the pipeline needs a unit, got 5; write 5s, 5ms or 5m
4: duration of the pipeline: cannot read the duration '-3s'; write it as 300ms, 30s, 5m or 1h
5: seed of the pipeline must be a whole number, got 'x'
6: latency_p95 of slo must be above 0s, got 0s
6: slo has no setting 'latency_p99'; did you mean 'latency_p95'?
7: policy threshold has no setting 'foo'; there are max_utilisation, scale_in_factor
8: guard cooldown has no setting 'seconds'; there are in, out
8: guards must be a list such as [hold, cooldown: {out: 4s, in: 8s}], got 7 in it
8: low of guard clamp must be 1 or more, got 0
8: there is no guard 'hodl'; did you mean 'hold'?
9: memory of cluster must be a size with its unit, such as 512m or 8g, got '512'
9: port of cluster must be 0 to 65,535, got 99,999
9: workers of cluster must be 1 or more, got 0
10: rate of source needs a unit, got 600; write 600/s
11: there is a workload and a rate of source; keep one
11: there is no workload 'constnt'; did you mean 'constant'?
13: module splitter has no setting 'max_replica'; did you mean 'max_replicas'?
13: service_time of module splitter needs a unit, got 3; write 3s, 3ms or 3m
14: buffer of module counter must be 1 or more, got 0
14: service_time of module counter: cannot read the duration '-1ms'; write it as 300ms, 30s, 5m
15: a module's name is a letter, then letters, digits, - and _, got '1bad'
17: there is no module 'nothing'; there are 1bad, counter, splitter
18: stream counter -> ? needs a value for to
"""


def test_every_one_of_twenty_mistakes_is_named_with_its_line_and_remedy(write: Write) -> None:
    path = write(TWENTY)
    found = [str(mistake).removeprefix(f"{path}, line ") for mistake in check(path).mistakes]
    for line in EXPECTED.splitlines():
        assert any(sentence.startswith(line) for sentence in found), line
    assert len(found) == len(EXPECTED.splitlines()) + 1  # and `selectivity`


def test_a_rule_of_a_part_is_shown_at_the_setting_that_breaks_it(write: Write) -> None:
    path = write(WORDCOUNT.replace("policy: {name: threshold}", "policy: threshold") + "\n")
    text = path.read_text().replace(
        "policy: threshold", "policy:\n  name: rules\n  max_utilisation: 0.9\n  low: 7"
    )
    [mistake] = mistakes(write(text))
    assert f"line {line_of(text, 'low: 7')}" in mistake


SMALL = """\
source: {module: a, rate: 2/s}
modules:
  a: {service_time: 1ms}
  b: {service_time: 1ms}
streams: [{from: a, to: b}]
"""


def found(write: Write, text: str, *overrides: str) -> list[str]:
    path = write(text)
    return [mistake.sentence for mistake in check(path, overrides).mistakes]


class TestNoMistakeHidesAnother:
    """Rules run over whatever part of a file could be read."""

    @pytest.mark.parametrize(
        ("text", "beginnings"),
        [
            (
                SMALL.replace("to: b}", "to: b, probability: 3}, {from: b, to: a}").replace(
                    "a: {service_time: 1ms}", "a: {service_time: 1, max_replicas: 0}"
                ),
                [
                    "max_replicas of module a must be 1 or more",
                    "service_time of module a needs a unit",
                    "probability of stream a -> b must be in (0, 1], got 3",
                    "the streams form a cycle: a -> b -> a",
                ],
            ),
            (
                SMALL.replace("a: {", "a: {region: dc1, ").replace("b: {", "b: {region: dc2, ")
                + "infrastructure:\n  regions: {dc1: {}, dc2: {slots: x}}\n"
                + "  delays: {dc1-dc2: 3, dc1-dc7: 1s}\n",
                [
                    "slots of region dc2 must be a whole number",
                    "delays of infrastructure needs a unit for dc1-dc2, got 3",
                    "there is no pair of regions 'dc1-dc7'",
                ],
            ),
            (
                SMALL + "policy: {name: mpc, alpha: -1, module: z, frequencies: [99]}\n",
                [
                    "alpha of policy mpc must be above 0",
                    "frequencies of policy mpc: the voltage table has nothing for 99 GHz",
                    "there is no module 'z'",
                ],
            ),
            (
                SMALL + "policy: {name: mpc, horizn: 2, strategy: lat-node}\n",
                [
                    "policy mpc has no setting 'horizn'",
                    "strategy lat-node of policy mpc needs a threshold",
                ],
            ),
            (
                SMALL + "policy: {name: fuzzy, margin: 0.9, pool: 1, fast: [3, 2], sampling: 9s}\n",
                [
                    "margin of policy fuzzy must be below its setpoint",
                    "pool of policy fuzzy must be 2 or more",
                    "the points of fast must be rising",
                    "the sampling period must be at most the control interval",
                ],
            ),
            (
                SMALL.replace(
                    "rate: 2/s",
                    "kafka: {servers: x, topic: 'a b', options: {assign: x, subscribe: y}}",
                ),
                [
                    "options of kafka cannot have assign",
                    "options of kafka cannot have subscribe",
                    "servers of kafka of source must be host:port",
                    "topic of kafka of source must be letters",
                ],
            ),
            (
                SMALL + "interference: {processes: -1, slowdown: 0.5, from: 9s, until: 5s}\n",
                [
                    "processes of interference must be 0 to 256",
                    "slowdown of interference must be 1 or more",
                    "until of interference must be after its from of 9 s",
                ],
            ),
            (
                SMALL.replace(", rate: 2/s", "")
                + "workload: {kind: step, levels: {3s: 1/s, 2s: 1/s}, level: 3}\n",
                [
                    "the first level of workload step must hold from 0 s on",
                    "the moments of workload step must increase, got 3 s, 2 s",
                    "workload step has no setting 'level'",
                ],
            ),
            (
                SMALL.replace(", rate: 2/s", "")
                + "workload: {kind: daily, low: 9/s, high: 3/s, noise: -1}\n",
                [
                    "high of workload daily must be above 0 and at least low",
                    "noise of workload daily must be 0 or more",
                ],
            ),
        ],
    )
    def test_all_are_named(self, write: Write, text: str, beginnings: list[str]) -> None:
        sentences = found(write, text)
        assert len(sentences) == len(beginnings)
        for beginning in beginnings:
            assert any(sentence.startswith(beginning) for sentence in sentences), beginning

    def test_a_setting_of_the_command_line_that_leads_nowhere_hides_nothing(
        self, write: Write
    ) -> None:
        text = SMALL.replace("a: {service_time: 1ms}", "a: {service_time: 1}")
        first, second, third = found(write, text, "guards.foo.x=3", "seed=z")
        assert first.startswith("the list has no item foo")
        assert second.startswith("seed of the pipeline must be a whole number")
        assert third.startswith("service_time of module a needs a unit")

    @pytest.mark.parametrize(
        "text",
        [
            f"pipeline: preferenc\nquery: {{kind: skyline}}\n{SMALL}",
            "cores: 8\npipelines: {x: {pipeline: wordcont}}\npolicy: allocation\n",
        ],
    )
    def test_an_unknown_pipeline_is_the_only_mistake(self, write: Write, text: str) -> None:
        [sentence] = found(write, text)
        assert sentence.startswith("there is no pipeline ")

    def test_a_module_without_its_minimum_is_not_blamed_for_its_first_replicas(
        self, write: Write
    ) -> None:
        text = SMALL.replace("a: {", "a: {min_replicas: x, ")
        assert found(write, text) == ["min_replicas of module a must be a whole number, got 'x'"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "work: wiat",
            "work of module a must be wait, cpu or none, got 'wiat'; did you mean 'wait'?",
        ),
        ("price: .inf", "price of module a must be 0 to 1,000,000,000, got inf"),
        ("price: 1e300", "price of module a must be 0 to 1,000,000,000, got 1e+300"),
        ("start_up: 1e30s", "start_up of module a must be at most 10 years, 3650d, got 1e30s"),
        ("max_replicas: '3'", "max_replicas of module a must be a whole number, got '3'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_plain_words(
    write: Write, setting: str, message: str
) -> None:
    assert found(write, SMALL.replace("a: {", f"a: {{{setting}, ")) == [message]


def test_only_a_mapping_can_be_merged(write: Write) -> None:
    assert found(write, f"<<: 3\n{SMALL}") == ["<< takes over a mapping such as *base, got 3"]
