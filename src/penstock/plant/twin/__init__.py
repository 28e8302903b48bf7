"""Rows are processed in virtual time: a simulation of the pipeline, with a plant's interface."""

from penstock.plant.twin.totals import Totals
from penstock.plant.twin.twin import Twin

__all__ = ["Totals", "Twin"]
