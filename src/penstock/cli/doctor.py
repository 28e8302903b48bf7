"""`penstock doctor`: what this machine lacks, and the remedy."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Final

from penstock.cli.options import something
from penstock.cli.output import print_json, print_line

HELP: Final = "check this machine for what runs need, with the remedy for what is missing"
EXAMPLES: Final = """\
examples:
  penstock doctor
  penstock doctor --out /data/runs
  penstock doctor --json | jq '.[] | select(.status != "ok")'
"""


def add_arguments(parser: ArgumentParser) -> None:
    """What `doctor` takes."""
    parser.add_argument(
        "--out", metavar="DIR", type=something, default="runs", help="folder of runs (runs)"
    )


def execute(args: Namespace) -> int:
    """Examine the machine; 2 where something fails."""
    from penstock.cli.checkup import check_machine

    findings = check_machine(args.out)
    if args.json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            print_line(f"{finding.status:<6}{finding.name:<10}{finding.detail}{remedy}")
    return 2 if any(finding.status == "fail" for finding in findings) else 0
