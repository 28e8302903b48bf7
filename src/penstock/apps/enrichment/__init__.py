"""Payments that are looked up in another system and scored."""

from typing import Final

from penstock.pipeline.shape import AppSpec, chain

ENRICHMENT: Final = AppSpec(
    name="enrichment",
    shape=chain("lookup", "score"),
    spark="penstock.apps.enrichment.application:ENRICHMENT",
    files=__name__,
)
