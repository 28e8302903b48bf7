"""The applications that come with Penstock, one folder each.

| folder | application |
|---|---|
| `wordcount` | the word count of the e2df paper |
| `recognition` | the object recognition of the game paper |
| `trading` | the algorithmic trader of the mpc paper, keyed by symbol |
| `preference` | the skyline and top-delta queries of the ppq paper |
| `enrichment` | payments that are looked up and scored; it has no state |
| `shared` | a file for two pipelines on one cluster; no code of its own |

In each folder `application.py` builds the queries of the modules, the YAML files describe
pipelines, and the other files make the rows and work on them without Spark.
"""
