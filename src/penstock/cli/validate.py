"""`penstock validate`: every mistake of a file, with the line it stands on."""

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import SET, Option
from penstock.cli.output import print_json, print_line, say
from penstock.core.errors import UserError
from penstock.core.words import count_of

if TYPE_CHECKING:
    from penstock.pipeline.file import Checked, PipelineFile


HELP: Final = "check pipeline files and explain every mistake with its line"
EXAMPLES: Final = """\
examples:
  penstock validate my.yaml
  penstock validate pipelines/*.yaml --json
  penstock validate wordcount --set step=5s
"""
_SORTS: Final = {
    "pipeline": ("a pipeline file", "fine for run and simulate"),
    "pipelines": ("a file of several pipelines", "fine for run and simulate"),
    "graph": ("a graph file", "fine for simulate; run needs `pipeline:` as well"),
    "allocation graph": ("an allocation graph", "for planning"),
}
_REFUSES: Final = "would refuse it"


OPTIONS: Final = (Option("files", "FILE", "a file or a built-in pipeline", str, nargs="+"), SET)


def execute(args: Namespace) -> int:
    """Check each file; 2 where there is a mistake in any."""
    reports = [examine(file, args.set) for file in args.files]
    if args.json:
        print_json({"ok": all(one["ok"] for one in reports), "files": reports})
    else:
        for one in reports:
            _show(one)
    wrong = sum(not one["ok"] for one in reports)
    if wrong:
        count = sum(len(one["mistakes"]) for one in reports)
        files = "the file" if len(reports) == 1 else f"{wrong} of {len(reports)} files"
        say(f"{count_of(count, 'mistake')} in {files}")
    return 2 if wrong else 0


def examine(file: str, overrides: list[str]) -> dict[str, Any]:
    """What there is to say about a file, as plain values.

    >>> examine("wordcount", [])["sort"]
    'pipeline'
    """
    from penstock.pipeline.file import check

    try:
        checked = check(file, overrides)
    except UserError as error:
        return _found(file, None, [{"line": None, "message": str(error)}], [])
    mistakes = [
        {"line": mistake.place.line or None, "message": str(mistake)}
        for mistake in checked.mistakes
    ]
    return _found(file, checked.sort, mistakes, notes(checked))


def notes(checked: "Checked") -> list[str]:
    """What is no mistake, but stands in the way of some commands or is left out by them."""
    from penstock.pipeline import twins

    file = checked.file
    if file is None:
        return []
    if file.parts:
        return _notes_of_several(checked, file)
    untwinned = twins.refusal(file)
    lack = file.lack_of_room() if file.runnable else None
    remarks = [] if lack else list(twins.out_of_reach(file))
    if lack is not None:
        fine = "run --master" if untwinned else "simulate and for run --master"
        remarks.append(f"fine for {fine}; on a cluster of its own run {_REFUSES}: {lack}")
    if untwinned is not None:
        fine = "fine for run; " if file.runnable and lack is None else ""
        return [*remarks, f"{fine}simulate {_REFUSES}: {untwinned}"]
    return [*remarks, *twins.left_out(file)]


def _notes_of_several(checked: "Checked", file: "PipelineFile") -> list[str]:
    """What is to be said of pipelines that share a cluster: of all, then of each."""
    from penstock.pipeline.sharing import uses_spark_scheduler

    lack = file.lack_of_room() if file.runnable else None
    remarks = [f"on a cluster of its own run {_REFUSES}: {lack}"] if lack else []
    if not file.runnable:
        remarks.append(f"run {_REFUSES}: every one of them needs `pipeline:` as well")
    if uses_spark_scheduler(file):
        remarks.append(f"simulate {_REFUSES}: policy {file.policy.name} is Spark's own scheduler")
    for name, part in file.parts.items():
        own = notes(replace(checked, file=replace(part, application=None)))
        remarks.extend(f"{name}: {note}" for note in own)
    return remarks


def _found(
    file: str, sort: str | None, mistakes: list[dict[str, Any]], notes: list[str]
) -> dict[str, Any]:
    return {
        "file": file,
        "ok": not mistakes,
        "sort": sort,
        "mistakes": mistakes,
        "notes": notes,
    }


def _show(one: dict[str, Any]) -> None:
    for mistake in one["mistakes"]:
        print_line(mistake["message"])
    if one["ok"]:
        kind, fine = _SORTS[one["sort"]]
        refused = any(_REFUSES in note for note in one["notes"])
        remarks = one["notes"] if refused else [fine, *one["notes"]]
        print_line(f"{one['file']}: {kind}, {'; '.join(remarks)}")
