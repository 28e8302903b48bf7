"""A module whose rows are routed by key: its operator, its measurements, its sink."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from penstock.core.graph import Module
from penstock.core.routing import Routing
from penstock.core.signals import KeyLoads
from penstock.pipeline.deploy.module import ModuleQuery
from penstock.query.keyed import KeyedOperator, KeyedWork, Setting
from penstock.query.keyed.operator import Sink
from penstock.query.keyed.task import TaskReport
from penstock.spark.source import parallelism
from penstock.spark.streams import DurableStream


@dataclass(slots=True)
class KeyedMonitor:
    """Adds up the reports of replicas between two readings."""

    refused: Counter[str] = field(default_factory=Counter)
    """Rows refused since the start, by reason."""
    _rows: Counter[str] = field(default_factory=Counter)
    _service: dict[str, float] = field(default_factory=dict)
    _waited: float = 0.0
    _since: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, reports: list[TaskReport]) -> None:
        """Add the reports of one step."""
        with self._lock:
            for replica in reports:
                rows = sum(replica.rows.values())
                self._rows.update(replica.rows)
                for key, number in replica.rows.items():
                    took = replica.service * number / rows
                    self._service[key] = self._service.get(key, 0.0) + took
                self._waited += replica.waited
                self.refused.update(replica.refused)

    def read(self, routing: Routing) -> dict[str, Any]:
        """The measurements since the last call, as fields of a module's reading."""
        with self._lock:
            rows, service, waited = self._rows, self._service, self._waited
            seconds = max(time.monotonic() - self._since, 1e-9)
            self._rows, self._service = Counter(), {}
            self._waited, self._since = 0.0, time.monotonic()
        total = rows.total()
        if not total:
            return {"routing": routing}
        return {
            "routing": routing,
            "service_time": sum(service.values()) / total,
            "waiting_time": max(waited / total, 0.0),
            "keys": KeyLoads(
                rates={key: n / seconds for key, n in rows.items()},
                service_times={key: service[key] / n for key, n in rows.items()},
            ),
        }


@dataclass(slots=True, kw_only=True)
class KeyedModule:
    """The operator of a keyed module, and its monitor."""

    operator: KeyedOperator
    monitor: KeyedMonitor
    service_time: float
    """Seconds per row at the highest frequency."""

    def slow_down(self, share: float) -> None:
        """Lengthen the service time as on a machine at a share of its highest frequency."""
        took = self.service_time / share
        self.operator.setting = replace(self.operator.setting, service_time=took)

    def measured(self) -> dict[str, Any]:
        """Fields of the reading that the replicas report."""
        return self.monitor.read(self.operator.table)


def make_keyed(running: ModuleQuery, work: KeyedWork, sink: Sink) -> KeyedModule:
    """The keyed operator of a module, with its state in the workspace."""
    monitor, module = KeyedMonitor(), running.module
    operator = KeyedOperator(
        work=work,
        store=str(running.workspace / "keyed" / module.name),
        sink=sink,
        table=Routing(replicas=module.initial_replicas),
        setting=setting_of(module),
        room=lambda: parallelism(running.hint),
        on_report=monitor.add,
    )
    return KeyedModule(operator=operator, monitor=monitor, service_time=module.service_time)


def setting_of(module: Module) -> Setting:
    """The settings of a module's replicas."""
    return Setting(protocol=module.migration, service_time=module.service_time, spend=module.work)


def appending(to: DurableStream) -> Sink:
    """Appends the results of every step to a stream, empty steps included: readers follow a stream
    number by number."""

    def append(results: pa.Table, step: int) -> None:
        for missed in range(max(step - 1, 0), step):
            to.append(missed, [])
        columns = pa.schema([column.with_nullable(True) for column in results.schema])
        written = to.write_file(iter(results.to_batches()), columns)
        if not to.append(step, [written]):
            to.delete_files([written[0]])

    return append
