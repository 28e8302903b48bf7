"""The experiments of the papers, a folder each, compared with the values that they printed.

`framework` has what all of them share: tables, figures and claims as data, and the runner. A folder
has `published` (the values that the paper printed), `experiment` (the system, its workloads, and
what is run), and `results` (tables, figures and claims over what was measured, and the `PAPER` that
`penstock reproduce` loads).
"""
