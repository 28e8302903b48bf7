"""The applications that come with Penstock, one folder each: rows, operators and pipeline files."""
