"""A run on a web page while it goes on, and its figures for Prometheus."""

from penstock.dashboard.metrics import MetricsState, render
from penstock.dashboard.server import DashboardServer

__all__ = ["DashboardServer", "MetricsState", "render"]
