"""A recorded run as one HTML page that needs nothing else, not even a network.

`page` puts a run's page together: `words` for the paragraph and the tiles, `plots` for which plots
there are (`regions`, `interference` and `candles` for special ones), `decisions` for the table and
`flow` for the graph. `plot` and `over_time` draw over time, `chart` anything else, `scales` has the
axes. `compare` is the page of a tournament, `paper` that of a reproduction.
"""
