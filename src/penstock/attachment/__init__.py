"""Attach to a PySpark program that runs already: look, decide, explain and, where told to, act.

`penstock.attach` is the way in; `docs/attach.md` tells the settings, what is measured and what is
estimated.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.attachment.attachment import Attachment, Voice, context_ended
from penstock.attachment.deciding import Size, build_policy, check_effect, guard
from penstock.attachment.environment import graceful, is_local, obstacle
from penstock.attachment.journal import try_journal
from penstock.attachment.plant import AttachedPlant, Crew
from penstock.attachment.queries import Queries
from penstock.attachment.settings import PREFIX, Settings, from_conf, read_settings
from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.units import parse_size
from penstock.spark import mark
from penstock.spark.backend import Backend, Foreign

__all__ = ["Attachment", "Settings", "open_attachment"]


def open_attachment(spark: Any, keywords: Mapping[str, object]) -> Attachment:
    """Check the settings, and start a controller beside the program."""
    conf = _conf_of(spark)
    settings = read_settings(keywords, from_conf(conf.items()))
    check_effect(settings)
    began = datetime.now().astimezone()
    policy = guard(build_policy(settings), settings, began=began, size=_size(conf))
    voice = Voice()
    for note in settings.notes:
        voice.warn(note)
    if settings.mode != "off" and not conf:
        voice.warn("it is off: there is no running Spark application behind this session")
    if settings.mode == "off" or not conf:
        return Attachment(None, settings, mode="off", voice=voice)
    attachment = _assemble(spark, settings, policy, voice, conf, began)
    attachment.start()
    return attachment


def _assemble(
    spark: SparkSession,
    settings: Settings,
    policy: Policy,
    voice: Voice,
    conf: Mapping[str, str],
    began: datetime,
) -> Attachment:
    """The parts of a controller, the application claimed for it."""
    mark.claim(spark, f"penstock.attach in process {os.getpid()} since {began:%H:%M:%S}")
    try:
        name = spark.sparkContext.appName or "application"
        journal = try_journal(settings, name=name, began=began, say=voice.warn)
        backend = Backend(spark)
        foreign = Foreign(spark, backend)
        queries = Queries(spark, foreign, voice.say)
        if journal is not None:
            queries.on_progress = journal.write_progress
        crew = Crew(backend, foreign, graceful=graceful(conf))
    except BaseException:
        mark.release(spark)
        raise
    plant = AttachedPlant(
        backend=backend,
        queries=queries,
        crew=crew,
        window=settings.metrics_window,
        local=is_local(spark.sparkContext.master or ""),
    )
    return Attachment(
        spark,
        settings,
        mode=_mode(spark, settings, conf, voice),
        voice=voice,
        plant=plant,
        policy=policy,
        journal=journal,
    )


def _mode(spark: SparkSession, settings: Settings, conf: Mapping[str, str], voice: Voice) -> str:
    """What can be done here of what was asked for."""
    why = obstacle(spark.sparkContext.master or "", conf)
    if settings.mode != "apply" or why is None:
        return settings.mode
    voice.warn(f"it advises and does not act: {why}")
    return "advise"


def _conf_of(spark: Any) -> dict[str, str]:
    """Spark's settings; none where no application runs in this process."""
    if not hasattr(spark, "streams"):
        raise SettingError(f"spark must be a SparkSession, got {spark!r}")
    try:
        if context_ended(spark):
            return {}
        told = {key: str(value) for key, value in spark.sparkContext.getConf().getAll()}
        # what `spark.conf.set` says is the session's, and no context's
        own = {k: str(v) for k, v in spark.conf.getAll.items() if k.startswith(PREFIX)}
        return told | own
    except (PySparkException, Py4JError, OSError):
        return {}  # a session of Spark Connect, whose application runs elsewhere


def _size(conf: Mapping[str, str]) -> Size:
    """Of one executor, as Spark's settings have it; a bare number is mebibytes there.

    >>> _size({"spark.executor.memory": "2g", "spark.executor.memoryOverhead": "512"}).memory
    2684354560.0
    """
    memory = conf.get("spark.executor.memory", "1g")
    extra = conf.get("spark.executor.memoryOverhead", "0m")
    told = [f"{size}m" if size.isdigit() else size for size in (memory, extra)]
    try:
        total = sum(parse_size(size, "memory") for size in told)
    except SettingError:  # written in a way that only Spark reads
        total = 0
    cores = conf.get("spark.executor.cores", "1")
    return Size(cores=int(cores) if cores.isdigit() else 1, memory=float(total) or None)
