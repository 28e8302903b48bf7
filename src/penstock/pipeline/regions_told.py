"""What to say of a file with regions that is no mistake: what its modules will not get, and what
the twin of regions does not know of them.

>>> from penstock.pipeline.file import load
>>> for sentence in out_of_reach(load("wordcount-regions", ["modules.filter.max_replicas=9"])):
...     print(sentence)
module filter may grow to 9 replicas and region dc2 has room for 8, so it will not
"""

from collections.abc import Iterator
from typing import Final

from penstock.core.graph import FlowGraph, Module
from penstock.pipeline.settings import PipelineFile

_QUEUES: Final = (
    "the twin of regions reckons every replica as an M/D/1 queue that starts each step empty"
)
_USUAL: Final = Module(name="any")
_UNKNOWN: Final = (
    *("service_cv", "trigger", "max_batch", "overhead", "task_overhead", "overhead_cv"),
    *("warm_up", "start_up", "buffer", "scaling"),
)
"""Settings of modules that M/D/1 queues have nothing of."""


def out_of_reach(file: PipelineFile) -> Iterator[str]:
    """Modules that may have more replicas than their region can ever host."""
    if file.infrastructure is None:
        return
    for module in file.graph.modules:
        region = file.infrastructure.places[str(module.region)]
        if module.max_replicas > region.max_slots:
            yield (
                f"module {module.name} may grow to {module.max_replicas} replicas and region "
                f"{region.name} has room for {region.max_slots}, so it will not"
            )


def left_out(file: PipelineFile) -> str | None:
    """What the twin of regions leaves out; None of files without regions.

    >>> from penstock.pipeline.file import load
    >>> left_out(load("wordcount-regions"))
    'the twin of regions reckons every replica as an M/D/1 queue that starts each step empty: \
trigger, max_batch, overhead and start_up of the modules are left out'
    """
    if file.infrastructure is None:
        return None
    given = [name for name in _UNKNOWN if _is_given(name, file.graph)]
    beside = ["interference"] if file.interference and file.interference.processes else []
    without = _listed([*([f"{_listed(given)} of the modules"] if given else []), *beside])
    are = "are" if len(given) + len(beside) > 1 else "is"
    return f"{_QUEUES}: {without} {are} left out" if without else _QUEUES


def refusal(file: PipelineFile) -> str | None:
    """Why the twin of regions would not simulate a file; None where it would."""
    if file.infrastructure is None:
        return None
    if file.query is not None:
        return "the twin of regions knows no panes; leave infrastructure out, or use run"
    keyed = [module.name for module in file.graph.modules if module.keys]
    if keyed:
        return (
            f"the twin of regions knows no keys, and {keyed[0]} has some; leave infrastructure or "
            "keys out, or use run"
        )
    return None


def _is_given(name: str, graph: FlowGraph) -> bool:
    return any(getattr(module, name) != getattr(_USUAL, name) for module in graph.modules)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
