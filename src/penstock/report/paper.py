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
    held = sum(claim.holds for claim in claims)
    if held == len(claims):
        return f"All {held} findings were found again."
    return f"{held} of {len(claims)} findings were found again."


def _finding(claim: Claim) -> Finding:
    return Finding(text=claim.text, found=claim.found, mark="" if claim.holds else "missed")


def _section(figure: Figure) -> Section:
    return Section(
        title=f"Fig. {figure.number}: {figure.title}",
        figures=tuple(chart_data(chart) for chart in figure.charts),
        notes=figure.notes,
    )
