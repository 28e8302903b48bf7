"""How the queries of an application that was attached to feed each other."""

from collections.abc import Iterator, Mapping


def links(file: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Pairs of queries, the first feeding the second, from `queries` of the settings.

    >>> links({"queries": [{"name": "parse", "feeds": ["count", "store"]}, {"name": "count"}]})
    (('parse', 'count'), ('parse', 'store'))
    >>> links({"queries": "none"})
    ()
    """
    queries = file.get("queries")
    return tuple(_links(queries)) if isinstance(queries, list | tuple) else ()


def _links(queries: list[object] | tuple[object, ...]) -> Iterator[tuple[str, str]]:
    for query in queries:
        if not isinstance(query, Mapping) or not isinstance(query.get("feeds"), list | tuple):
            continue
        for fed in query["feeds"]:
            yield str(query.get("name")), str(fed)
