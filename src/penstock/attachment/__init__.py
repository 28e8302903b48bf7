"""Attach to a PySpark program that runs already: look, decide, explain and, where asked to, act.

`penstock.attach` is the way in; `docs/attach.md` has the settings, what is measured and what is
estimated. An attachment is the same loop and the same parts as a run: `plant.py` has the queries of
a program as a plant, `deciding.py` the policy inside its guards, `tolerance.py` what keeps both
from hurting the program, `attachment.py` the thread that runs `penstock.core.loop.control`.

Whether executors can be changed is judged by Spark's settings:

>>> obstacle("local[2]", {})
'master local[2] has no executors to scale'
>>> obstacle("spark://host:7077", {}) is None
True
>>> obstacle("yarn", {"spark.dynamicAllocation.enabled": "true"})
"Spark's own dynamic allocation is on and would act against it; set \
spark.dynamicAllocation.enabled to false, or its timeouts to 3650d"
"""

import os
import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.attachment.attachment import Attachment, context_ended
from penstock.attachment.deciding import Size, build_policy, check_effect, guard
from penstock.attachment.journal import Journal, try_journal
from penstock.attachment.plant import AttachedPlant, application_actuator
from penstock.attachment.queries import Queries
from penstock.attachment.settings import PREFIX, Settings, from_conf, read_settings
from penstock.attachment.tolerance import OnceLogger, Tolerance, Tolerant
from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.units import parse_size
from penstock.spark import lock
from penstock.spark.backend import Backend, ExternalBackend

__all__ = ["Attachment", "Settings", "open_attachment"]


def open_attachment(spark: Any, keywords: Mapping[str, object]) -> Attachment:
    """Check the settings, and start a controller beside the program."""
    conf = _conf_of(spark)
    settings = read_settings(keywords, from_conf(conf.items()))
    check_effect(settings)
    began = datetime.now().astimezone()
    policy = guard(build_policy(settings), settings, began=began, size=_size(conf))
    tolerance = Tolerance(ended=partial(context_ended, spark))
    for note in settings.notes:
        tolerance.log.warn(note)
    if settings.mode != "off" and not conf:
        tolerance.log.warn("it is off: there is no running Spark application behind this session")
    if settings.mode == "off" or not conf:
        return Attachment(None, settings, tolerance)
    attachment = _assemble(spark, settings, policy, tolerance, conf, began)
    attachment.start()
    return attachment


def _assemble(
    spark: SparkSession,
    settings: Settings,
    policy: Policy,
    tolerance: Tolerance,
    conf: Mapping[str, str],
    began: datetime,
) -> Attachment:
    """The parts of a controller, the application claimed for it."""
    lock.acquire(spark, f"penstock.attach in process {os.getpid()} since {began:%H:%M:%S}")
    try:
        name = spark.sparkContext.appName or "application"
        journal = try_journal(settings, name=name, began=began, say=tolerance.log.warn)
        plant = _plant(spark, settings, tolerance, conf, journal)
    except BaseException:
        lock.release(spark)
        raise
    tolerant = Tolerant(
        policy=policy,
        name=settings.policy_name,
        log=tolerance.log,
        advises=lambda: not plant.acts,
        silence=plant.silence,
        patience=_PATIENCE * settings.step,
    )
    return Attachment(spark, settings, tolerance, plant=plant, policy=tolerant, journal=journal)


def _plant(
    spark: SparkSession,
    settings: Settings,
    tolerance: Tolerance,
    conf: Mapping[str, str],
    journal: Journal | None,
) -> AttachedPlant:
    backend = Backend(spark)
    external = ExternalBackend(spark, backend)
    queries = Queries(spark, external, tolerance.log.info)
    if journal is not None:
        queries.on_progress = journal.write_progress
    return AttachedPlant(
        queries=queries,
        actuator=application_actuator(backend, external, graceful=graceful(conf)),
        step=settings.step,
        window=settings.metrics_window,
        local=is_local(spark.sparkContext.master or ""),
        initial=settings.initial_executors,
        acts=_may_act(spark, settings, conf, tolerance.log),
        tolerance=tolerance,
    )


def _may_act(
    spark: SparkSession, settings: Settings, conf: Mapping[str, str], log: OnceLogger
) -> bool:
    """Whether decisions are carried out: where that was asked for and can be."""
    why = obstacle(spark.sparkContext.master or "", conf)
    if settings.mode == "apply" and why is not None:
        log.warn(f"it advises and does not act: {why}")
    return settings.mode == "apply" and why is None


def _conf_of(spark: Any) -> dict[str, str]:
    """Spark's settings; none where no application runs in this process."""
    if not hasattr(spark, "streams"):
        raise SettingError(f"spark must be a SparkSession, got {spark!r}")
    try:
        if context_ended(spark):
            return {}
        whole = {key: str(value) for key, value in spark.sparkContext.getConf().getAll()}
        # what `spark.conf.set` says is the session's, and no context's
        own = {k: str(v) for k, v in spark.conf.getAll.items() if k.startswith(PREFIX)}
        return whole | own
    except (PySparkException, Py4JError, OSError):
        return {}  # a session of Spark Connect, whose application runs elsewhere


def _size(conf: Mapping[str, str]) -> Size:
    """Of one executor, as Spark's settings have it; a bare number is mebibytes there.

    >>> _size({"spark.executor.memory": "2g", "spark.executor.memoryOverhead": "512"}).memory
    2684354560.0
    """
    memory = conf.get("spark.executor.memory", "1g")
    extra = conf.get("spark.executor.memoryOverhead", "0m")
    sizes = [f"{size}m" if size.isdigit() else size for size in (memory, extra)]
    try:
        total = sum(parse_size(size, "memory") for size in sizes)
    except SettingError:  # written in a way that only Spark reads
        total = 0
    cores = conf.get("spark.executor.cores", "1")
    return Size(cores=int(cores) if cores.isdigit() else 1, memory=float(total) or None)


_PATIENCE: Final = 3
"""Steps that a policy may take to answer before that is said."""
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_NEVER: Final = 86400.0
"""Seconds that no streaming query waits for."""
_TIMEOUTS: Final = {
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "60s",
}


def obstacle(master: str, conf: Mapping[str, str]) -> str | None:
    """Why executors cannot be changed here; None where they can, as far as one can tell."""
    if is_local(master):
        return f"master {master} has no executors to scale"
    if conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true" and not idle(conf):
        return (
            "Spark's own dynamic allocation is on and would act against it; set "
            "spark.dynamicAllocation.enabled to false, or its timeouts to 3650d"
        )
    return None


def is_local(master: str) -> bool:
    """Whether the driver does all work itself.

    >>> is_local("local[*]"), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master.startswith("local") and not master.startswith("local-cluster")


def idle(conf: Mapping[str, str]) -> bool:
    """Whether Spark's own dynamic allocation never acts, its timeouts being out of reach.

    >>> idle({name: "3650d" for name in _TIMEOUTS}), idle({})
    (True, False)
    """
    return all(seconds(conf.get(name, usual)) >= _NEVER for name, usual in _TIMEOUTS.items())


def graceful(conf: Mapping[str, str]) -> bool:
    """Whether executors finish their tasks before they leave.

    >>> graceful({"spark.decommission.enabled": "true"}), graceful({})
    (True, False)
    """
    return conf.get("spark.decommission.enabled", "false").lower() == "true"


def seconds(time: str) -> float:
    """A time as Spark writes it; a bare number is seconds.

    >>> seconds("3650d") / 86400, seconds("250ms"), seconds("60"), seconds("soon")
    (3650.0, 0.25, 60.0, 0.0)
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", time.lower())
    if match is None or (match[2] or "s") not in _SECONDS:
        return 0.0
    return float(match[1]) * _SECONDS[match[2] or "s"]
