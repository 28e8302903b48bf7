"""What feeds a pipeline: the workload of its file, or the constant rate of its source."""

from pathlib import Path as FilePath
from typing import Any, cast

from penstock.core.errors import UserError
from penstock.core.located import Draft
from penstock.core.roles import Workload
from penstock.core.settings import option_names
from penstock.pipeline.format.flow import Source
from penstock.pipeline.format.kafka import NoWorkload
from penstock.pipeline.format.sections import assemble, beside, chosen, kind
from penstock.workload import WORKLOADS, parse, with_seed


def read_workload(
    draft: Draft, source: Source | None, seed: int, folder: FilePath
) -> Workload | None:
    """`workload`, or the constant rate of the source."""
    given = draft.at(("workload",))
    stated = [key for key in ("rate", "inter_arrival") if draft.at(("source", key)) is not None]
    if given is not None and stated and not _prefers_workload(draft, stated):
        draft.note(("workload",), f"there is a workload and a {stated[0]} of source; keep one")
    if isinstance(given, dict):
        return _workload_part(draft, given, seed, folder)
    if given is not None:
        return _workload_text(draft, given, seed, folder)
    if not stated and draft.at(("source", "kafka")) is not None:
        topic = source.kafka.topic if source and source.kafka else "?"
        return NoWorkload(f"topic {topic} of Kafka")
    if not stated:
        like = "workload: {kind: constant, rate: 100/s}"
        draft.note((), f"workload is missing; write {like}, or give the source a rate")
    constant = source.rows_a_second() if source else None
    return parse({"kind": "constant", "rate": f"{constant!r}/s"}) if constant else None


def _prefers_workload(draft: Draft, stated: list[str]) -> bool:
    """Whether the workload was given on the command line; then the rate of the file goes."""
    if draft.place(("workload",)).line:
        return False
    for key in stated:
        del draft.value["source"][key]
    return True


def _workload_part(
    draft: Draft, given: dict[str, Any], seed: int, folder: FilePath
) -> Workload | None:
    path = ("workload",)
    name = given.get("kind")
    part = chosen(draft, (*path, "kind"), WORKLOADS, name, of="workload")
    if part is None:
        return None
    if name == "trace" and isinstance(given.get("path"), str):
        given["path"] = str(beside(draft, (*path, "path"), folder) / given["path"])
    rest = {key: value for key, value in given.items() if key != "kind"}
    if "seed" in option_names(part):
        rest.setdefault("seed", seed)
    return assemble(draft, path, rest, part, of=f"workload {name}")


def _workload_text(draft: Draft, given: object, seed: int, folder: FilePath) -> Workload | None:
    path = ("workload",)
    if not isinstance(given, str):
        like = "{kind: constant, rate: 100/s} or constant:100/s"
        draft.note(path, f"workload must be written as {like}, got {kind(given)}")
        return None
    name, _, rest = given.partition(":")
    if name == "trace" and rest:
        given = draft.value["workload"] = f"trace:{beside(draft, path, folder) / rest}"
    try:
        workload = parse(given)
    except UserError as error:
        draft.note(path, str(error))
        return None
    return workload if "seed=" in rest else cast(Workload, with_seed(workload, seed))
