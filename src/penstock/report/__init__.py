"""A recorded run as one HTML page that needs nothing else, not even a network."""

from penstock.report.page import page, write_report

__all__ = ["page", "write_report"]
