"""The word count of the e2df paper."""

from typing import Final

from penstock.pipeline.shape import AppSpec, chain

WORDCOUNT: Final = AppSpec(
    name="wordcount",
    shape=chain("splitter", "filter", "counter", "consumer", exchanges=True),
    spark="penstock.apps.wordcount.application:WORDCOUNT",
    files=__name__,
    one_text=True,
)
