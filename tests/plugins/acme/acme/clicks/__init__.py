"""Clicks that are counted by page."""

from penstock.pipeline.shape import AppSpec, chain

CLICKS = AppSpec(
    name="clicks",
    shape=chain("parse", "rate"),
    spark="acme.clicks.application:CLICKS",
    files="acme.clicks",
)
