"""The package of plug-ins is installed or put on the path, never collected."""

collect_ignore = ["acme"]
