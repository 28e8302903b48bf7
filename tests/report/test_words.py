"""The paragraph and the tiles say what the summary knows, and no more."""

from dataclasses import replace

from penstock.core.signals import Latency
from penstock.record import SloCheck, Summary, summarise
from penstock.report.words import paragraph, tiles

NOTHING = summarise([], None)

CALM = replace(
    NOTHING,
    steps=300,
    duration=600.0,
    rows_arrived=312_000.0,
    rows_processed=310_000.0,
    arrival_rate_mean=520.0,
    arrival_rate_max=903.4,
    backlog_max=1234.0,
    backlog_final=40.0,
    latency=Latency(p50=0.8, p95=1.9, p99=2.4),
    slo=SloCheck(latency_p95=2.0, met=290, violated=8, unknown=2, violated_share=8 / 298, idle=2),
    executor_seconds_total=1860.0,
    executors_min=2,
    executors_mean=3.1,
    executors_max=6,
    reconfigurations=12,
    scale_outs=7,
    scale_ins=6,
    failed_tasks=0,
)


def values(summary: Summary) -> dict[str, str]:
    return {tile.label: tile.value for tile in tiles(summary)}


def tones(summary: Summary) -> dict[str, str]:
    return {tile.label: tile.tone for tile in tiles(summary)}


def test_a_promise_that_was_kept_is_the_first_thing_to_read() -> None:
    assert paragraph(CALM) == (
        "Held p95 latency at 1.9 s, within the SLO of 2 s, with 3.1 executors on average (2 to 6), "
        "over 10 min. 2.7 % of the steps that measured latency broke it. "
        "Rows came at 520/s on average and 903/s at the peak. The backlog peaked at 1,234 rows and "
        "ended at 40. Reconfigured in 12 steps: 7 out, 6 in."
    )
    assert tones(CALM)["Latency, p95"] == "good"


def test_a_promise_that_was_broken_is_said_first_too() -> None:
    slow = replace(CALM, latency=Latency(p50=3.0, p95=6.1, p99=9.0))
    assert paragraph(slow).startswith(
        "Missed the SLO: p95 latency was 6.1 s where 2 s was promised, with 3.1 executors"
    )
    assert tones(slow)["Latency, p95"] == "bad"


def test_without_a_promise_there_is_neither_good_nor_bad() -> None:
    free = replace(CALM, slo=None)
    assert paragraph(free).startswith(
        "p95 latency was 1.9 s with 3.1 executors on average (2 to 6)"
    )
    assert tones(free)["Latency, p95"] == ""
    assert values(free)["Steps beyond the SLO"] == "no SLO"


def test_a_promise_kept_in_every_known_step_is_no_promise_about_the_others() -> None:
    slo = SloCheck(latency_p95=2.0, met=1, violated=0, unknown=1, violated_share=0.0)
    kept = replace(CALM, slo=slo)
    assert paragraph(kept).startswith("p95 latency was 1.9 s where measured, within the SLO of 2 s")
    assert "Every step that measured latency kept it; 1 step measured none." in paragraph(kept)
    assert tones(kept)["Latency, p95"] == ""


def test_a_backlog_ends_with_what_the_drain_left_by_module() -> None:
    through = replace(CALM, results={"rows_waiting": {"splitter": 0, "counter": 0}})
    assert "ended at 40; after the drain none were left." in paragraph(through)
    stuck = replace(CALM, results={"rows_waiting": {"splitter": 3, "counter": 1200}})
    left = "after the drain 3 before splitter and 1,200 before counter were left"
    assert left in paragraph(stuck)


def test_what_is_unknown_is_called_unknown() -> None:
    blind = replace(NOTHING, steps=3, duration=6.0)
    assert paragraph(blind) == "Ran for 6 s; no latency was measured. Nothing was reconfigured."
    found = values(blind)
    for label in ("Latency, p95", "Executors, mean", "Rows processed", "Backlog, max"):
        assert found[label] == "unknown"
    unmeasured = SloCheck(latency_p95=2.0, met=0, violated=0, unknown=3, violated_share=None)
    assert values(replace(blind, slo=unmeasured))["Steps beyond the SLO"] == "unknown"


def test_a_run_without_steps_has_nothing_to_tell() -> None:
    assert "nothing to report" in paragraph(NOTHING)


def test_executors_that_never_changed_are_said_once() -> None:
    same = replace(CALM, executors_min=3, executors_mean=3.0, executors_max=3, reconfigurations=0)
    assert "with 3 executors throughout" in paragraph(same)
    assert paragraph(same).endswith("Nothing was reconfigured.")


def test_a_failed_task_stands_out() -> None:
    assert tones(CALM)["Failed tasks"] == ""
    assert tones(replace(CALM, failed_tasks=1))["Failed tasks"] == "bad"
