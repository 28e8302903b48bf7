"""A dashboard for Grafana over the metrics that `/metrics` serves.

>>> dashboard()["title"], len(dashboard()["panels"])
('Penstock', 15)
"""

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

_GRAPHS: Final[tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Rate and forecast",
        "rowsps",
        (
            ("penstock_arrival_rate_rows_per_second{I}", "{{module}} arrival"),
            ("penstock_processed_rate_rows_per_second{I}", "{{module}} processed"),
            ("penstock_forecast_rate_rows_per_second{I}", "{{module}} forecast"),
        ),
    ),
    (
        "Backlog",
        "short",
        (
            ("penstock_backlog_rows{I}", "{{module}}"),
            ("penstock_lag_records{I}", "{{query}}"),
        ),
    ),
    (
        "Latency, end to end",
        "s",
        (
            ("penstock_latency_seconds{I}", "quantile {{quantile}}"),
            ("penstock_slo_latency_seconds{I}", "SLO for p95"),
        ),
    ),
    (
        "Executors",
        "short",
        (
            ("penstock_executors{I}", "{{module}} {{state}}"),
            ("penstock_recommended_executors{I}", "{{module}} recommended"),
            ("penstock_pool_executors{I}", "shared by all"),
        ),
    ),
    (
        "Utilisation and load",
        "percentunit",
        (
            ("penstock_utilisation_ratio{I}", "{{module}} busy"),
            ("penstock_load_ratio{I}", "{{module}} load"),
        ),
    ),
    (
        "Decisions a minute",
        "short",
        (
            (
                'sum by (module, action) (60 * rate(penstock_decisions_total{I,action!="hold"}'
                "[$__rate_interval]))",
                "{{module}} {{action}}",
            ),
        ),
    ),
    (
        "Violations and failures a minute",
        "short",
        (
            ("60 * rate(penstock_slo_violations_total{I}[$__rate_interval])", "violations"),
            (
                "60 * sum by (module) (rate(penstock_failed_tasks_total{I}[$__rate_interval]))",
                "{{module}} failed tasks",
            ),
        ),
    ),
    (
        "Batch duration",
        "s",
        (
            ("penstock_batch_duration_seconds{I}", "{{module}}"),
            ("penstock_query_batch_duration_seconds{I}", "{{query}}"),
        ),
    ),
    (
        "Cost and power",
        "short",
        (
            ("3600 * rate(penstock_cost_total{I}[$__rate_interval])", "cost an hour"),
            ("penstock_power_watts{I}", "watts"),
        ),
    ),
)
"""Plots: title, unit, and expressions with their legends."""


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
        "panels": [*_stats(), *_graphs()],
    }


def expressions() -> list[str]:
    """Every expression of the dashboard."""
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def _source() -> dict[str, str]:
    return {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}


def _instances() -> dict[str, Any]:
    return {
        "name": "instance",
        "label": "Run",
        "type": "query",
        "datasource": _source(),
        "query": "label_values(penstock_info, instance)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _stats() -> list[dict[str, Any]]:
    return [
        _panel(
            "stat",
            title,
            unit,
            ((expression, ""),),
            place={"x": 4 * index, "y": 0, "w": 4, "h": 4},
            number=index + 1,
        )
        for index, (title, unit, expression) in enumerate(_STATS)
    ]


def _graphs() -> list[dict[str, Any]]:
    return [
        _panel(
            "timeseries",
            title,
            unit,
            lines,
            place={"x": 12 * (index % 2), "y": 4 + 8 * (index // 2), "w": 12, "h": 8},
            number=len(_STATS) + index + 1,
        )
        for index, (title, unit, lines) in enumerate(_GRAPHS)
    ]


def _panel(
    kind: str,
    title: str,
    unit: str,
    lines: tuple[tuple[str, str], ...],
    *,
    place: dict[str, int],
    number: int,
) -> dict[str, Any]:
    return {
        "id": number,
        "type": kind,
        "title": title,
        "datasource": _source(),
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "custom": _look(title)}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _source(),
                "expr": _chosen(expression),
                "legendFormat": legend,
            }
            for index, (expression, legend) in enumerate(lines)
        ],
    }


def _look(title: str) -> dict[str, Any]:
    """Gaps stay gaps; executors change in steps."""
    return {
        "spanNulls": False,
        "lineInterpolation": "stepAfter" if title == "Executors" else "linear",
    }


def _chosen(expression: str) -> str:
    """The expression for the runs that were chosen.

    >>> _chosen('penstock_executors{I,state="running"}')
    'penstock_executors{instance=~"$instance",state="running"}'
    """
    return expression.replace("{I", _OURS[:-1])
