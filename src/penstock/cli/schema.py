"""`penstock schema`: the JSON Schema of pipeline files, for editors."""

from argparse import Namespace
from typing import Final

from penstock.cli.output import print_json

HELP: Final = "print a JSON Schema with which editors complete and check pipeline files"
EXAMPLES: Final = """\
examples:
  penstock schema > pipeline-schema.json
  check-jsonschema --schemafile pipeline-schema.json my.yaml

In an editor with the YAML language server, the first line of a pipeline file names it:
  # yaml-language-server: $schema=pipeline-schema.json
"""


OPTIONS: Final = ()


def execute(args: Namespace) -> int:  # noqa: ARG001  # as every command has it
    """Print the schema; plug-ins that are installed are in it."""
    from penstock.pipeline.format.schema import json_schema

    print_json(json_schema())
    return 0
