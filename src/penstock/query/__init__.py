"""Operators for Spark users.

| operator | what it is for |
|---|---|
| `keyed` | state by key behind a routing table that changes while the query runs |
"""
