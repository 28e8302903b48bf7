"""A recorded run as one HTML page that needs nothing else, not even a network.

`page` puts a run's page together: `words` for sentences and tiles, `plots` for which plots there
are (`candles` and `interference` for special ones), `decisions` for the table. `figures` has plots
and charts as the data that the scripts in `web` draw, `pages` the templates. `compare` is the page
of a tournament, `paper` that of a reproduction.
"""
