"""Rows are processed in virtual time: a simulation of the pipeline, with a plant's interface."""

from penstock.plant.twin.keyed import KeyedTwin
from penstock.plant.twin.panes import PaneTwin
from penstock.plant.twin.panes_costs import Costs
from penstock.plant.twin.regions import RegionTwin
from penstock.plant.twin.totals import Totals
from penstock.plant.twin.twin import Twin

__all__ = ["Costs", "KeyedTwin", "PaneTwin", "RegionTwin", "Totals", "Twin"]
