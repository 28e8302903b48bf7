"""The tournament on the twin: who takes part, the clairvoyant, verdicts and advice."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.core.signals import Decision, Observation
from penstock.experiment.compare import (
    PEERS,
    Load,
    Prices,
    TournamentResult,
    advise,
    dominance,
    entrants,
    play,
)
from penstock.experiment.compare.clairvoyant import Problem, _ahead
from penstock.experiment.compare.outcome import Played
from penstock.experiment.compare.tables import tables
from penstock.experiment.compare.track import degrees
from penstock.pipeline.file import load
from penstock.pipeline.settings import Part, PipelineFile
from penstock.policy import DEFAULT, POLICIES, Static
from penstock.workload import parse

SHORT = ("duration=30s", "slo.latency_p95=5s")


def file(*more: str) -> PipelineFile:
    return load("wordcount", [*SHORT, *more])


@dataclass
class Explodes:
    after: float = 4.0

    def __call__(self, seen: Observation, /) -> Decision:
        if seen.at > self.after:
            raise ValueError("no idea")
        return Static()(seen)


EXPLODES = f"{__name__}:Explodes"


class TestWhoTakesPart:
    def test_settings_follow_a_name_until_the_next_name(self) -> None:
        found = entrants.read("threshold:max_utilisation=0.8,scale_in_factor=0.5,mpc:horizon=3")
        assert [dict(one.part.settings) for one in found] == [
            {"max_utilisation": 0.8, "scale_in_factor": 0.5},
            {"horizon": 3},
        ]

    def test_the_files_own_policy_brings_its_settings(self) -> None:
        trading = load("trading")
        [own] = entrants.read("mpc", trading)
        assert own.kind == "own"
        assert own.part.settings["catch_up"] == "20s"
        [other] = entrants.read("mpc:horizon=1", trading)
        assert (other.kind, dict(other.part.settings)) == ("policy", {"horizon": 1})

    def test_by_default_the_own_policy_comes_first_and_none_twice(self) -> None:
        names = [one.name for one in entrants.defaults(file())]
        assert names[0] == "threshold"
        assert len(names) == len(set(names))
        assert {"mpc", DEFAULT} <= set(names)
        assert set(PEERS) & set(POLICIES) == set(PEERS) & set(names)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("treshold", "there is no policy 'treshold'; did you mean 'threshold'"),
            ("threshold,,mpc", "names parted by commas"),
            ("static-peak", "static-peak always takes part"),
            ("threshold:max_utilisation", "name:key=value"),
            ("threshold:max_utilisation=[", r"cannot read '\[' of policy threshold:max"),
            ("threshold:max_utilisation=1.3", r"must be in \(0, 1\], got 1.3"),
            ("threshold:colour=red", "has no setting 'colour'"),
        ],
    )
    def test_what_cannot_take_part_is_refused_before_anything_is_played(
        self, text: str, message: str
    ) -> None:
        with pytest.raises(SettingError, match=message):
            play(file(), text, seeds=1)

    def test_guards_of_the_file_hold_all_but_peers(self) -> None:
        peer = entrants.Entrant(name="hpa", part=Part("static"), kind="peer")
        ours = entrants.Entrant(name="static", part=Part("static"), kind="policy")

        def guards(who: entrants.Entrant, whom: str) -> list[str]:
            return [part.name for part in who.file(file("guards+=dry-run"), whom).guards]

        everything = ["hold", "cooldown", "step-limit"]
        assert (guards(peer, "own"), guards(ours, "own")) == (["hold"], everything)
        assert (guards(peer, "all"), guards(ours, "none")) == (everything, [])

    def test_a_reference_has_no_guard(self) -> None:
        one = entrants.Entrant(name="static-peak", part=Part("static"), kind="reference")
        assert one.file(file(), "all").guards == ()


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"seeds": 0}, "seeds must be 1 or more, got 0"),
            ({"seeds": []}, "seeds must be 1 or more, got 0"),
            ({"guards": "some"}, "guards must be one of own, all, none, got 'some'"),
            (
                {"workloads": {"nothing": parse("step:0/s,100/s@1h")}},
                "workload nothing has no rows in the 30 s of a run",
            ),
            ({"policies": []}, "there is no policy to compare"),
        ],
    )
    def test_nothing_to_play(self, options: dict[str, object], message: str) -> None:
        with pytest.raises(SettingError, match=message):
            play(file(), **{"policies": "static", **options})  # type: ignore[arg-type]

    def test_a_pipeline_that_promises_nothing(self) -> None:
        with pytest.raises(SettingError, match=r"--set slo.latency_p95=10s"):
            play(load("recognition"), "static")

    @pytest.mark.parametrize("name", ["shared", "wordcount-regions"])
    def test_pipelines_that_are_more_than_one_graph(self, name: str) -> None:
        with pytest.raises(SettingError, match="compare takes"):
            play(load(name), "static")


def day() -> Workload:
    return parse("daily:100/s..700/s,period=30s,noise=0.1")


@pytest.fixture(scope="module")
def played() -> TournamentResult:
    loads = [
        Load(name="day", workload=day()),
        Load(name="fixed", workload=parse("map:100,rate=400/s,seed=3"), fixed=True),
    ]
    return play(file(), "threshold,static:degrees=1", loads, seeds=[4, 5], tries=5)


class TestPlay:
    def test_every_policy_has_the_same_rows_and_every_seed_its_own(
        self, played: TournamentResult
    ) -> None:
        first, second = (one for one in played.rounds if one.load == "day")
        assert (first.seed, second.seed) == (4, 5)
        assert not np.array_equal(first.demand, second.demand)
        again = play(file(), "static:degrees=1", {"day": day()}, seeds=[4, 5], tries=0)
        for seed in (0, 1):
            name = "static:degrees=1"
            assert (
                again.values(name, "backlog_max", "day")[seed]
                == played.values(name, "backlog_max", "day")[seed]
            )

    def test_a_load_whose_chance_was_chosen_keeps_it(self, played: TournamentResult) -> None:
        first, second = (one for one in played.rounds if one.load == "fixed")
        assert first.statics == second.statics

    @pytest.mark.slow  # workers start afresh, which takes most of it
    def test_processes_change_nothing(self, played: TournamentResult) -> None:
        loads = {"day": day()}
        one = play(file(), "threshold", loads, seeds=2, tries=2, jobs=1)
        two = play(file(), "threshold", loads, seeds=2, tries=2, jobs=2)
        assert one.to_json() == two.to_json()

    def test_overall_is_the_mean_of_the_loads(self, played: TournamentResult) -> None:
        day, fixed, both = (
            played.values("threshold", "core_seconds", load) for load in ("day", "fixed", None)
        )
        assert both == [(a + b) / 2 for a, b in zip(day, fixed, strict=True) if a and b]

    def test_static_peak_keeps_the_promise_and_costs_most(self, played: TournamentResult) -> None:
        peak = played.score("static-peak", "core_seconds", "day")
        assert peak is not None
        for name in played.names:
            cost = played.score(name, "core_seconds", "day")
            assert cost is not None
            assert cost.mean <= peak.mean
        assert played.values("static-peak", "violations") == [0, 0]

    def test_the_clairvoyant_is_measured_by_itself(self, played: TournamentResult) -> None:
        for measure in ("accuracy", "settling_time", "overshoot"):
            assert set(played.values("clairvoyant", measure, "fixed")) <= {0.0, None}

    def test_tables_mark_the_best_and_leave_the_clairvoyant_out(
        self, played: TournamentResult
    ) -> None:
        every = list(tables(played))
        assert len(every) == 9  # of two loads, and of both together
        for table in every:
            assert sum(" *" in cell for row in table.rows[:-1] for cell in row) > 0
            assert not any(" *" in cell for cell in table.rows[-1])

    def test_money_follows_the_price(self) -> None:
        dear, cheap = (
            play(file(), "static", seeds=1, tries=0, prices=Prices(executor_hour=price))
            for price in (1.0, 0.5)
        )
        both = [one.values("static", "money")[0] for one in (dear, cheap)]
        assert both[0] == 2 * (both[1] or 0) > 0

    def test_a_policy_that_raises_does_not_end_it(self) -> None:
        played = play(file(), f"{EXPLODES},threshold", seeds=2, tries=0)
        assert played.error(EXPLODES) == "ValueError: no idea"
        assert played.error("threshold") is None
        assert played.score(EXPLODES, "core_seconds") is None
        assert played.score("threshold", "core_seconds") is not None
        table = next(tables(played))
        assert table.rows[0][:2] == (EXPLODES, "raised")
        assert table.notes == (f"{EXPLODES} raised ValueError: no idea",)
        assert dominance(played, EXPLODES, "threshold").verdict == "loses"
        assert dominance(played, "threshold", EXPLODES).verdict == "wins"
        assert advise(played).choose == "threshold"


class TestClairvoyant:
    def test_asks_before_the_load_comes(self) -> None:
        needed = np.array([1.0, 1, 1, 4, 1, 1])
        assert _ahead(needed, 3).tolist() == [1, 4, 4, 4, 1, 1]
        problem = Problem(
            graph=load("wordcount").graph,
            rates=np.array([100.0, 100, 100, 100, 100, 100, 600, 600]),
            step=2.0,
            promised=10.0,
        )
        plan = problem.plan(0.7, 0.0).plan
        few, many = degrees(problem.graph, 100.0, 0.7), degrees(problem.graph, 600.0, 0.7)
        assert [plan[0], plan[1], plan[6]] == [few, many, many]  # 9 s to start, and a step

    @settings(max_examples=6, deadline=None)
    @given(
        low=st.integers(50, 300),
        swing=st.integers(0, 600),
        period=st.sampled_from([20, 40, 80]),
        seed=st.integers(0, 50),
    )
    def test_no_policy_that_breaks_no_more_is_cheaper(
        self, low: int, swing: int, period: int, seed: int
    ) -> None:
        day = parse(f"daily:{low}/s..{low + swing}/s,period={period}s,noise=0.1")
        field = "threshold,mpc,static:degrees=1,static:degrees=2"
        played = play(file(), field, {"day": day}, seeds=[seed], tries=8)
        [broken] = played.values("clairvoyant", "violations")
        [cost] = played.values("clairvoyant", "core_seconds")
        assert broken == 0  # static-peak can always keep it
        for name in played.names:
            [theirs] = played.values(name, "violations")
            [paid] = played.values(name, "core_seconds")
            assert theirs is not None
            assert paid is not None
            assert theirs > 0 or (cost is not None and cost <= paid)

    @pytest.mark.parametrize(
        "load",
        [
            "daily:84/s..766/s,period=20s,noise=0.1",
            "random-walk:410/s,low=20/s,high=1200/s,step=60/s",
            "map:200,rate=432/s",
        ],
    )
    def test_its_own_search_beats_everybody(self, load: str) -> None:
        """Without taking over the plan of another, which it would do otherwise."""
        played = play(file(), "threshold,mpc,static:degrees=2", {load: parse(load)}, seeds=1)
        assert played.rounds[0].found_by == "search"
        [cost] = played.values("clairvoyant", "core_seconds")
        [peak] = played.values("static-peak", "core_seconds")
        assert cost is not None
        assert peak is not None
        assert cost < 0.9 * peak

    def test_breaks_the_least_where_no_policy_could_keep_it(self) -> None:
        played = play(file(), "static:degrees=1", {"flood": parse("constant:5k/s")}, seeds=1)
        [broken] = played.values("clairvoyant", "violations")
        [theirs] = played.values("static:degrees=1", "violations")
        assert broken is not None
        assert theirs is not None
        assert 0 < broken <= theirs

    def test_finds_the_cheapest_constant_plan_by_itself(self) -> None:
        """The search alone, without the plans of others, against all degrees there are."""
        steady = {"steady": parse("constant:500/s")}
        every = ",".join(f"static:degrees={n}" for n in (1, 2, 3, 4))
        played = play(file(), every, steady, seeds=1)
        assert played.rounds[0].found_by == "search"
        kept = [n for n in played.names if played.values(n, "violations") == [0]]
        costs = [played.values(n, "core_seconds")[0] or 0 for n in kept]
        assert played.values("clairvoyant", "core_seconds")[0] == min(costs)


def outcome(**values: tuple[list[float], list[float]]) -> TournamentResult:
    """A tournament in which policies had these violations and core-seconds, seed by seed."""
    seeds = range(len(next(iter(values.values()))[0]))
    always = {name: ([0.0] * len(seeds), [100.0] * len(seeds)) for name in entrants.REFERENCES}
    rounds = tuple(
        Played(
            load="day",
            seed=seed,
            scores={
                name: {"violations": v[seed], "core_seconds": c[seed], "money": c[seed] / 100}
                for name, (v, c) in {**always, **values}.items()
            },
            errors={},
            utilisation=0.7,
            found_by="search",
            statics={},
        )
        for seed in seeds
    )
    return TournamentResult(
        pipeline="p",
        on="twin",
        step=2.0,
        duration=30.0,
        promised=5.0,
        seeds=tuple(seeds),
        guards="own",
        prices=Prices(),
        entrants=tuple(
            entrants.Entrant(name=name, part=Part(name), kind="policy") for name in values
        ),
        loads=("day",),
        rounds=rounds,
    )


class TestDominance:
    @pytest.mark.parametrize(
        ("ours", "theirs", "verdict"),
        [
            (([0, 0, 0], [80, 82, 81]), ([0, 0, 0], [100, 100, 100]), "wins"),
            (([0, 0, 0], [90, 92, 91]), ([0, 0, 0], [100, 100, 100]), "loses"),
            (([0.1, 0.1, 0.1], [80, 80, 80]), ([0.0, 0.0, 0.0], [100, 100, 100]), "loses"),
            (([0.1, 0.11, 0.1], [100, 100, 100]), ([0.2, 0.2, 0.2], [100, 100, 100]), "wins"),
            (([0.18, 0.18, 0.18], [90, 90, 90]), ([0.2, 0.2, 0.2], [100, 100, 100]), "loses"),
            (([0.1, 0.2, 0.3], [99, 101, 100]), ([0.2, 0.2, 0.2], [100, 100, 100]), "ties"),
            (([0.0], [100]), ([0.0], [100]), "ties"),
            (([0.0], [85]), ([0.0], [100]), "wins"),
        ],
    )
    def test_margins_and_ties(
        self, ours: tuple[list[float], ...], theirs: tuple[list[float], ...], verdict: str
    ) -> None:
        played = outcome(a=ours, b=theirs)  # type: ignore[arg-type]
        assert dominance(played, "a", "b").verdict == verdict

    def test_says_where_neither_beats_the_other(self) -> None:
        played = outcome(a=([0.0, 0.0], [120, 121]), b=([0.5, 0.51], [100, 100]))
        assert dominance(played, "a", "b").why.endswith("neither beats the other")
        assert dominance(played, "a", "b").words == "is even with b"
        beaten = outcome(a=([0.0, 0.0], [120, 121]), b=([0.0, 0.0], [90, 91]))
        assert "neither" not in dominance(beaten, "a", "b").why
        assert dominance(beaten, "a", "b").words == "loses against b"


class TestAdvice:
    def test_is_the_cheapest_of_those_that_break_least(self) -> None:
        played = outcome(
            cheap=([0.1, 0.12], [10, 11]), good=([0, 0], [50, 51]), dear=([0, 0], [70, 71])
        )
        advice = advise(played)
        assert advice.choose == "good"
        assert advice.why[0] == (
            "Choose good: it is the cheapest of the 2 that have the fewest violations or hardly "
            "more (2 % of the time, 5 % where chance may explain it). It breaks the promise never "
            "and takes 50 core-seconds a run."
        )
        assert advice.saves == pytest.approx(0.495)
        assert any("saves 50 %" in sentence for sentence in advice.why)

    def test_does_not_pay_any_price_for_a_step_of_violations(self) -> None:
        played = outcome(
            dear=([0, 0, 0], [188, 188, 189]),
            ours=([0.01, 0.011, 0.01], [70, 71, 70]),
            wild=([0.2, 0.21, 0.2], [40, 41, 40]),
        )
        advice = advise(played)
        assert advice.choose == "ours"
        assert advice.why[1] == "dear breaks it never, for 168 % more core-seconds."

    def test_takes_more_violations_only_for_a_saving_that_is_worth_it(self) -> None:
        played = outcome(a=([0, 0, 0], [100, 101, 100]), b=([0.01, 0.011, 0.01], [90, 91, 90]))
        advice = advise(played)
        assert advice.choose == "a"
        assert "b would save only 10 % of its core-seconds" in advice.why[0]
        unsure = outcome(a=([0, 0, 0], [100, 101, 100]), b=([0.01, 0, 0], [90, 91, 90]))
        assert advise(unsure).choose == "b"  # chance may explain the violations
        assert "chance may explain that difference" in advise(unsure).why[1]

    def test_tolerates_more_where_chance_may_explain_it_but_not_anything(self) -> None:
        sure, unsure, wild = [0.04, 0.041, 0.04], [0.12, 0, 0], [0.6, 0, 0]
        for broken, chosen in ((sure, "a"), (unsure, "b"), (wild, "a")):
            played = outcome(a=([0, 0, 0], [100, 101, 100]), b=(broken, [50, 51, 50]))
            assert advise(played).choose == chosen

    def test_reports_whether_it_is_the_only_one_or_the_only_safe_one(self) -> None:
        alone = outcome(a=([0.1, 0.1], [50, 51]))
        assert advise(alone).why[0].startswith("Choose a: it is the only policy. It breaks")
        safe = outcome(a=([0.1, 0.1], [50, 51]), b=([0.2, 0.2], [10, 11]))
        message = "it has the fewest violations of the 2 policies, by more than 2 % of the time."
        assert message in advise(safe).why[0]

    def test_reports_the_load_that_the_mean_hides(self) -> None:
        calm = outcome(a=([0, 0], [50, 51]), b=([0.5, 0.5], [80, 80]))
        burst = outcome(a=([0.08, 0.08], [50, 51]), b=([0.5, 0.5], [80, 80]))
        rounds = (*calm.rounds, *(replace(one, load="burst") for one in burst.rounds))
        both = replace(calm, loads=("day", "burst"), rounds=rounds)
        assert "On burst alone it breaks it 8 % of the time." in advise(both).why
        assert not any("alone" in sentence for sentence in advise(calm).why)

    def test_reports_a_static_one_that_is_safer_for_little_more(self) -> None:
        near = advise(outcome(a=([0.03, 0.03], [95, 95]))).why
        assert any("static-peak would have done with 100 and broken it never" in s for s in near)
        far = advise(outcome(a=([0.03, 0.03], [70, 70]))).why
        assert not any("would have done" in sentence for sentence in far)

    def test_reports_that_a_policy_which_did_nothing_was_not_tried(self) -> None:
        calm = {"calm": parse("constant:50/s")}
        message = "It never changed anything: this load does not show how it scales."
        assert message in advise(play(file(), "static", calm, seeds=1, tries=0)).why
        rising = {"rising": parse("step:50/s,500/s@10s")}
        assert message not in advise(play(file(), "threshold", rising, seeds=1, tries=0)).why

    def test_one_seed_is_not_enough_to_be_sure(self) -> None:
        message = "One seed cannot separate merit from chance; use more seeds."
        assert message in advise(outcome(a=([0], [50]), b=([0], [60]))).why
        assert message not in advise(outcome(a=([0, 0], [50, 51]))).why

    def test_a_clairvoyant_that_breaks_less_may_need_more(self) -> None:
        reason = advise(outcome(a=([0.01, 0.01], [80, 80]))).why[-1]
        assert reason.endswith("needs 100 to break it never: 25 % more than a.")

    def test_reports_what_chance_may_have_put_behind(self) -> None:
        played = outcome(a=([0, 0], [50, 60]), b=([0, 0], [56, 55]))
        assert "b cannot be distinguished from it with 2 seeds." in advise(played).why

    def test_does_not_choose_what_was_sized_with_the_load_known(self) -> None:
        played = outcome(a=([0, 0], [150, 151]))
        assert advise(played).choose == "a"
        assert any("static-mean would have done with 100" in one for one in advise(played).why)
        assert any("costs 50 % more core-seconds" in one for one in advise(played).why)
