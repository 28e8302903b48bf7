"""The best tuples of sliding windows, found in two stages: the application of the ppq paper."""

from typing import Final

from penstock.pipeline.shape import AppSpec, chain

PREFERENCE: Final = AppSpec(
    name="preference",
    shape=chain("plq", "wlq", "consumer", exchanges=True),
    spark="penstock.apps.preference.application:preference",
    files=__name__,
    takes_query=True,
    makes_own_rows=True,
)
