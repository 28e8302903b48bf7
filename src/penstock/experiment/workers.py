"""The same work on many items, one after another or in processes of their own.

`repeat` keeps the order of the items:

>>> repeat(abs, [-3, 4], jobs=1)
[3, 4]

`spread` yields results as they come. Workers are spawned, not forked, so they inherit no thread and
no lock, and ignore Ctrl-C: the process that started them ends them.

>>> dict(spread(abs, [-3, 4], jobs=1))
{0: 3, 1: 4}
"""

import gc
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Any, TypeVar

from penstock.core.errors import PenstockError, SettingError
from penstock.core.settings import near

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int
) -> Generator[tuple[int, Result], None, None]:
    """Each result with the position of its item, in the order in which they are done.

    With one job, or one item, the work is done here. Items, results and `work` must be picklable
    otherwise. Workers are gone when the iterator ends, is closed, or raises.
    """
    if min(jobs, len(items)) <= 1:
        yield from ((index, work(item)) for index, item in enumerate(items))
        return
    with _workers(work, min(jobs, len(items))) as connections:
        todo = iter(enumerate(items))
        busy = {connection for connection in connections if _send_next(connection, todo)}
        while busy:
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)  # noqa: S101  # typeshed has it wider
                yield _receive(connection)
                if not _send_next(connection, todo):
                    busy.discard(connection)


@contextmanager
def _workers(work: Callable[[Any], Any], size: int) -> Iterator[list[Connection]]:
    with ExitStack() as ending:
        yield [_started(work, ending) for _ in range(size)]


def _started(work: Callable[[Any], Any], ending: ExitStack) -> Connection:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work_off, args=(theirs, work), daemon=True)
    ending.callback(_end, process)
    ending.callback(ours.close)
    _start(process)
    theirs.close()  # so that the death of the worker ends the connection
    return ours


def _start(process: SpawnProcess) -> None:
    """Start a worker in a thread, where no signal can interrupt it."""
    thread = Thread(target=_start_deaf, args=(process,))
    thread.start()
    try:
        thread.join()
    finally:
        thread.join()


def _start_deaf(process: SpawnProcess) -> None:
    """Start a process that ignores Ctrl-C: it inherits the blocked signal."""
    resource_tracker.ensure_running()  # which would lift the block, were it started later
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    process.start()


def _end(process: SpawnProcess) -> None:
    if process.pid is not None:
        process.terminate()
        process.join()


def _work_off(connection: Connection, work: Callable[[Any], Any]) -> None:
    """Do items as they come until the connection ends.

    Garbage is collected between items, because looking for it within one costs a tenth of the
    time; what has survived that, such as libraries, is not looked at again.
    """
    gc.disable()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            index, item = connection.recv()
            try:
                result, error = work(item), None
            except Exception as caught:  # raised again in the process that asked
                result, error = None, caught
            connection.send((index, result, error))
            del item, result, error
            gc.collect()
            gc.freeze()


def _send_next(connection: Connection, todo: Iterator[tuple[int, Any]]) -> bool:
    """Give a worker its next item; False where there is none."""
    for item in todo:
        with suppress(BrokenPipeError):  # that a worker has died shows when its result is read
            connection.send(item)
        return True
    return False


def _receive(connection: Connection) -> tuple[int, Any]:
    try:
        index, result, error = connection.recv()
    except (EOFError, ConnectionResetError):
        raise PenstockError(
            "a worker process has died, as when memory runs out; try again with fewer --jobs"
        ) from None
    if error is not None:
        raise error
    return index, result


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

Progress = Callable[[int, int], None]
"""Called with the number of runs that are done, and of all."""


def silent(_done: int, _total: int, /) -> None:
    """Report nothing."""


def check_amounts(**amounts: int | None) -> None:
    """Refuse nothing to do.

    >>> check_amounts(seeds=3, steps=0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: steps must be 1 or more, got 0
    """
    for name, amount in amounts.items():
        if amount is not None and amount < 1:
            raise SettingError(f"{name} must be 1 or more, got {amount}")


def check_workloads(chosen: Iterable[str], known: Sequence[str]) -> None:
    """Refuse workloads that a paper does not have."""
    for workload in chosen:
        if workload not in known:
            raise SettingError(
                f"there is no workload {workload!r} in the paper{near(workload, known)}"
            )


def repeat(
    examine: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    *,
    jobs: int,
    progress: Progress = silent,
    compile_with: Task | None = None,
) -> list[Outcome]:
    """What comes of each task, in the order of the tasks whatever the number of jobs.

    With several jobs, `compile_with` is a short task that is done first and here: it compiles the
    twin once, on disk, and not in every worker.
    """
    if jobs > 1 and compile_with is not None:
        examine(compile_with)
    done: dict[int, Outcome] = {}
    progress(0, len(tasks))
    with closing(spread(examine, tasks, jobs=jobs)) as results:
        for index, outcome in results:
            done[index] = outcome
            progress(len(done), len(tasks))
    return [done[index] for index in range(len(tasks))]
