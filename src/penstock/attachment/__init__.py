"""Attach to a running PySpark program: observe, decide, explain and, in mode `apply`, act.

`penstock.attach` is the entry point; `docs/attach.md` has the settings, what is measured and what
is estimated. An attachment has the same loop and the same parts as a run: `plant.py` has the
queries of a program as a plant, `policy.py` the policy inside its guards, `errors.py` the handling
of errors, `attachment.py` the thread that runs `penstock.core.loop.control`.

Whether executors can be changed depends on Spark's settings:

>>> obstacle("local[2]", {})
'master local[2] has no executors to scale'
>>> obstacle("spark://host:7077", {}) is None
True
>>> obstacle("yarn", {"spark.dynamicAllocation.enabled": "true"})
"Spark's own dynamic allocation is on and would interfere; set \
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

from penstock.attachment.attachment import Attachment, context_ended, try_journal
from penstock.attachment.errors import ErrorHandler, HoldOnError
from penstock.attachment.plant import AttachedPlant, application_actuator
from penstock.attachment.policy import Size, build_policy, check_effect, guard
from penstock.attachment.queries import Queries
from penstock.attachment.settings import PREFIX, Settings, from_conf, read_with
from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.units import parse_size
from penstock.spark.backend import Backend, acquire_control, release_control

__all__ = ["Attachment", "Settings", "open_attachment"]


def open_attachment(spark: Any, keywords: Mapping[str, object]) -> Attachment:
    """Check the settings, and start a controller in the program."""
    conf = _conf_of(spark)
    began, size = datetime.now().astimezone(), _size(conf)
    settings, (_, policy) = read_with(
        keywords,
        from_conf(conf.items()),
        check_effect,
        lambda read: guard(build_policy(read), read, began=began, size=size),
    )
    errors = ErrorHandler(ended=partial(context_ended, spark))
    for note in settings.notes:
        errors.log.warn(note)
    if settings.mode != "off" and not conf:
        errors.log.warn("it is off: this session has no running Spark application")
    if settings.mode == "off" or not conf:
        return Attachment(None, settings, errors)
    attachment = _assemble(spark, settings, policy, errors, conf, began)
    attachment.start()
    return attachment


def _assemble(
    spark: SparkSession,
    settings: Settings,
    policy: Policy,
    errors: ErrorHandler,
    conf: Mapping[str, str],
    began: datetime,
) -> Attachment:
    """The parts of a controller, which holds the lock of the application."""
    controller = f"penstock.attach in process {os.getpid()} since {began:%H:%M:%S}"
    acquire_control(spark, controller)
    try:
        name, master = spark.sparkContext.appName or "application", spark.sparkContext.master or ""
        journal = try_journal(settings, name=name, began=began, say=errors.log.warn)
        why_not = obstacle(master, conf)
        if settings.mode == "apply" and why_not is not None:
            errors.log.warn(f"decisions are only proposed: {why_not}")
        backend = Backend(spark)
        queries = Queries(spark, backend, errors.log.info)
        if journal is not None:
            queries.on_progress = journal.write_progress
        plant = AttachedPlant(
            queries=queries,
            actuator=application_actuator(backend, graceful=graceful(conf)),
            step=settings.step,
            window=settings.metrics_window,
            local=is_local(master),
            initial=settings.initial_executors,
            acts=settings.mode == "apply" and why_not is None,
            errors=errors,
        )
    except BaseException:
        release_control(spark)
        raise
    holding = HoldOnError(
        policy=policy,
        name=settings.policy_name,
        log=errors.log,
        advises=lambda: not plant.acts,
        silence=plant.silence,
        patience=_PATIENCE * settings.step,
    )
    return Attachment(spark, settings, errors, plant=plant, policy=holding, journal=journal)


def _conf_of(spark: Any) -> dict[str, str]:
    """Spark's settings; empty if no application runs in this process."""
    if not hasattr(spark, "streams"):
        raise SettingError(f"spark must be a SparkSession, got {spark!r}")
    try:
        if context_ended(spark):
            return {}
        whole = {key: str(value) for key, value in spark.sparkContext.getConf().getAll()}
        # settings of `spark.conf.set` belong to the session, not to the context
        own = {k: str(v) for k, v in spark.conf.getAll.items() if k.startswith(PREFIX)}
        return whole | own
    except (PySparkException, Py4JError, OSError):
        return {}  # a session of Spark Connect, whose application runs elsewhere


def _size(conf: Mapping[str, str]) -> Size:
    """The size of an executor, from Spark's settings; a bare number is in mebibytes.

    >>> _size({"spark.executor.memory": "2g", "spark.executor.memoryOverhead": "512"}).memory
    2684354560.0
    """
    memory = conf.get("spark.executor.memory", "1g")
    extra = conf.get("spark.executor.memoryOverhead", "0m")
    sizes = [f"{size}m" if size.isdigit() else size for size in (memory, extra)]
    try:
        total = sum(parse_size(size, "memory") for size in sizes)
    except SettingError:  # a format that only Spark reads
        total = 0
    cores = conf.get("spark.executor.cores", "1")
    return Size(cores=int(cores) if cores.isdigit() else 1, memory=float(total) or None)


_PATIENCE: Final = 3
"""Steps after which a policy that has not answered is reported."""
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_NEVER: Final = 86400.0
"""Seconds beyond which a timeout never acts."""
_TIMEOUTS: Final = {
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "60s",
}


def obstacle(master: str, conf: Mapping[str, str]) -> str | None:
    """Why executors cannot be changed; None if they can."""
    if is_local(master):
        return f"master {master} has no executors to scale"
    if conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true" and not is_inactive(
        conf
    ):
        return (
            "Spark's own dynamic allocation is on and would interfere; set "
            "spark.dynamicAllocation.enabled to false, or its timeouts to 3650d"
        )
    return None


def is_local(master: str) -> bool:
    """Whether the driver runs all tasks itself.

    >>> is_local("local[*]"), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master.startswith("local") and not master.startswith("local-cluster")


def is_inactive(conf: Mapping[str, str]) -> bool:
    """Whether Spark's own dynamic allocation never acts, because of its timeouts.

    >>> is_inactive({name: "3650d" for name in _TIMEOUTS}), is_inactive({})
    (True, False)
    """
    return all(seconds(conf.get(name, usual)) >= _NEVER for name, usual in _TIMEOUTS.items())


def graceful(conf: Mapping[str, str]) -> bool:
    """Whether executors finish their tasks before they are released.

    >>> graceful({"spark.decommission.enabled": "true"}), graceful({})
    (True, False)
    """
    return conf.get("spark.decommission.enabled", "false").lower() == "true"


def seconds(time: str) -> float:
    """A duration as Spark writes it; a bare number is in seconds.

    >>> seconds("3650d") / 86400, seconds("250ms"), seconds("60"), seconds("soon")
    (3650.0, 0.25, 60.0, 0.0)
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", time.lower())
    if match is None or (match[2] or "s") not in _SECONDS:
        return 0.0
    return float(match[1]) * _SECONDS[match[2] or "s"]
