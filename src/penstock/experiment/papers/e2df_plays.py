"""What is run for Tab. 1 and 2 of the e2df paper; the weight that both of them have runs once."""

from dataclasses import dataclass
from typing import Final

from penstock.core.regions import Infrastructure
from penstock.experiment.closed_loop import Levels
from penstock.experiment.papers.e2df_printed import (
    APPLICATIONS,
    INFRASTRUCTURES,
    WEIGHT,
    WEIGHTS,
)
from penstock.experiment.papers.e2df_setup import STATIC_NODES, places


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Who decides at either level."""

    infrastructure: str
    application: str
    demand_weight: float = WEIGHT
    """Of a region's cost; of no account unless regions learn."""

    @property
    def levels(self) -> Levels:
        """As the simulation takes them, with everything else as it is usually."""
        return Levels(
            application=self.application,
            infrastructure=self.infrastructure,
            demand_weight=self.demand_weight,
        )

    @property
    def places(self) -> Infrastructure:
        """The three regions, with the nodes that they begin with."""
        return places(STATIC_NODES) if self.infrastructure == "static" else places()

    @property
    def where(self) -> dict[str, str]:
        """By which to find it among the entries.

        >>> Play(infrastructure="rl", application="threshold").where
        {'infrastructure': 'rl', 'application': 'threshold', 'demand_weight': '0.7'}
        """
        return {
            "infrastructure": self.infrastructure,
            "application": self.application,
            "demand_weight": f"{self.demand_weight:g}",
        }


COMBINATIONS: Final = tuple(
    Play(infrastructure=infrastructure, application=application)
    for infrastructure in INFRASTRUCTURES
    for application in APPLICATIONS
)
"""Tab. 1, row by row."""
OBJECTIVES: Final = tuple(
    Play(infrastructure="rl", application=application, demand_weight=weight)
    for application in APPLICATIONS
    for weight in WEIGHTS
)
"""Tab. 2, row by row."""
PLAYS: Final = tuple(dict.fromkeys((*COMBINATIONS, *OBJECTIVES)))
"""All, each once."""
