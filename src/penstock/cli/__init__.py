"""The command line: run, simulate, validate, doctor, report."""

from penstock.cli.main import main

__all__ = ["main"]
