"""A dashboard for Grafana over the metrics that `/metrics` serves.

>>> dashboard()["title"], len(dashboard()["panels"])
('Penstock', 15)
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_OURS: Final = '{instance=~"$instance"}'
_STATS: Final = (
    ("Latency, p95", "s", 'penstock_latency_seconds{I,quantile="0.95"}'),
    ("Backlog", "short", "sum(penstock_backlog_rows{I})"),
    ("Executors running", "short", 'sum(penstock_executors{I,state="running"})'),
    ("Cost", "short", "penstock_cost_total{I}"),
    ("Energy", "joule", "penstock_energy_joules_total{I}"),
    ("Violations", "short", "penstock_slo_violations_total{I}"),
)
"""Single numbers: title, unit as Grafana names it, expression."""

_GRAPHS: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("Rate and forecast", "rowsps"): {
        "{{module}} arrival": "penstock_arrival_rate_rows_per_second{I}",
        "{{module}} processed": "penstock_processed_rate_rows_per_second{I}",
        "{{module}} forecast": "penstock_forecast_rate_rows_per_second{I}",
    },
    ("Backlog", "short"): {
        "{{module}}": "penstock_backlog_rows{I}",
        "{{query}}": "penstock_lag_records{I}",
    },
    ("Latency, end to end", "s"): {
        "quantile {{quantile}}": "penstock_latency_seconds{I}",
        "SLO for p95": "penstock_slo_latency_seconds{I}",
    },
    ("Executors", "short"): {
        "{{module}} {{state}}": "penstock_executors{I}",
        "{{module}} recommended": "penstock_recommended_executors{I}",
        "shared by all": "penstock_pool_executors{I}",
    },
    ("Utilisation and load", "percentunit"): {
        "{{module}} busy": "penstock_utilisation_ratio{I}",
        "{{module}} load": "penstock_load_ratio{I}",
    },
    ("Decisions a minute", "short"): {
        "{{module}} {{action}}": "sum by (module, action) (60 * rate("
        'penstock_decisions_total{I,action!="hold"}[$__rate_interval]))',
    },
    ("Violations and failures a minute", "short"): {
        "violations": "60 * rate(penstock_slo_violations_total{I}[$__rate_interval])",
        "{{module}} failed tasks": "60 * sum by (module) (rate("
        "penstock_failed_tasks_total{I}[$__rate_interval]))",
    },
    ("Batch duration", "s"): {
        "{{module}}": "penstock_batch_duration_seconds{I}",
        "{{query}}": "penstock_query_batch_duration_seconds{I}",
    },
    ("Cost and power", "short"): {
        "cost an hour": "3600 * rate(penstock_cost_total{I}[$__rate_interval])",
        "watts": "penstock_power_watts{I}",
    },
}
"""Plots: by title and unit, expressions by their legend."""

_SOURCE: Final = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}


def dashboard() -> dict[str, Any]:
    """The dashboard, to be imported in Grafana, which asks for the data source."""
    return {
        "__inputs": [
            {
                "name": "DS_PROMETHEUS",
                "label": "Prometheus",
                "type": "datasource",
                "pluginId": "prometheus",
            }
        ],
        "title": "Penstock",
        "uid": "penstock",
        "tags": ["penstock", "spark"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_instances()]},
        "panels": list(_panels()),
    }


def expressions() -> list[str]:
    """Every expression of the dashboard."""
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def _instances() -> dict[str, Any]:
    return {
        "name": "instance",
        "label": "Run",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(penstock_info, instance)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Single numbers in a row, and plots below them in two columns."""
    for index, (title, unit, expression) in enumerate(_STATS):
        place = {"x": 4 * index, "y": 0, "w": 4, "h": 4}
        yield _panel(index + 1, "stat", (title, unit), {"": expression}, place)
    for index, (about, lines) in enumerate(_GRAPHS.items()):
        place = {"x": 12 * (index % 2), "y": 4 + 8 * (index // 2), "w": 12, "h": 8}
        yield _panel(len(_STATS) + index + 1, "timeseries", about, lines, place)


def _panel(
    number: int,
    kind: str,
    about: tuple[str, str],
    lines: Mapping[str, str],
    place: Mapping[str, int],
) -> dict[str, Any]:
    """Gaps stay gaps; executors change in steps."""
    title, unit = about
    shape = "stepAfter" if title == "Executors" else "linear"
    look = {"spanNulls": False, "lineInterpolation": shape}
    return {
        "id": number,
        "type": kind,
        "title": title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "custom": look}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": _chosen(expression),
                "legendFormat": legend,
            }
            for index, (legend, expression) in enumerate(lines.items())
        ],
    }


def _chosen(expression: str) -> str:
    """The expression for the runs that were chosen.

    >>> _chosen('penstock_executors{I,state="running"}')
    'penstock_executors{instance=~"$instance",state="running"}'
    """
    return expression.replace("{I", _OURS[:-1])
