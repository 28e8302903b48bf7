"""The reproduction of a paper as one HTML page that needs nothing else."""

from penstock.experiment.results import Claim, Figure, Reproduction
from penstock.report.figures import chart_data
from penstock.report.pages import Finding, Section, experiment_page


def paper_page(done: Reproduction, *, subtitle: str) -> str:
    """Findings, tables and figures, ours beside the paper's."""
    return experiment_page(
        title=f"The {done.paper} paper, reproduced",
        subtitle=f"{done.title} \u00b7 {subtitle}",
        lead=_lead(done.claims),
        findings=[_finding(claim) for claim in done.claims],
        sections=(
            Section(title="Tables", tables=tuple(done.tables)),
            *(_section(figure) for figure in done.figures),
        ),
        remarks=done.remarks,
    )


def _lead(claims: tuple[Claim, ...]) -> str:
    """How many findings hold; those that settings were fitted to are counted apart.

    >>> _lead((
    ...     Claim(text="a", found="", holds=True),
    ...     Claim(text="b", found="", holds=True, calibrated=True),
    ... ))
    'All 1 findings were found again; 1 more by calibration.'
    """
    others = [claim.holds for claim in claims if not claim.calibrated]
    held, fitted = sum(others), sum(claim.holds for claim in claims if claim.calibrated)
    every = f"All {held}" if held == len(others) else f"{held} of {len(others)}"
    more = f"; {fitted} more by calibration" if fitted else ""
    return f"{every} findings were found again{more}."


def _finding(claim: Claim) -> Finding:
    mark = ("tied" if claim.calibrated else "") if claim.holds else "missed"
    return Finding(text=claim.text, found=claim.answer, mark=mark)


def _section(figure: Figure) -> Section:
    return Section(
        title=f"Fig. {figure.number}: {figure.title}",
        figures=tuple(chart_data(chart) for chart in figure.charts),
        notes=figure.notes,
    )
