"""A run on a web page while it goes on, and its figures for Prometheus.

`feed` follows a run folder and turns its ticks into what the page draws; `server` sends the page,
the feed and the metrics; `metrics` has the figures in Prometheus' format, and `grafana` a dashboard
over them.
"""

from penstock.dashboard.metrics import MetricsState, render
from penstock.dashboard.server import DashboardServer

__all__ = ["DashboardServer", "MetricsState", "render"]
