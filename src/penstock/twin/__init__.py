"""Rows are processed in virtual time: a simulation of the pipeline, with a plant's interface."""

from penstock.twin.keys.twin import KeyedTwin
from penstock.twin.observing import Totals
from penstock.twin.panes.state import Costs
from penstock.twin.panes.twin import PaneTwin
from penstock.twin.regions.twin import RegionTwin
from penstock.twin.twin import Twin

__all__ = ["Costs", "KeyedTwin", "PaneTwin", "RegionTwin", "Totals", "Twin"]
