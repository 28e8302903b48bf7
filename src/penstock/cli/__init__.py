"""The command line: a file for each command, and what commands share.

`main` reads the words and calls the command. Shared: `options` of `run` and `simulate`, `session`
(a run from its first step to its report), `view` (what is shown meanwhile), `sheets` (tables in a
terminal), `output` (stdout and stderr) and `interrupt` (Ctrl-C and SIGTERM).
"""

from penstock.cli.main import main

__all__ = ["main"]
