"""The experiments of the papers, a folder each, beside the figures that they printed.

Every folder has the same files. `setup` is the system and the workloads of the paper, `runs` plays
them and keeps what counts, `published` has the figures that the paper printed, `entries` sets ours
beside them, `tables`, `figures` and `claims` are what is shown, and `reproduce` is what `penstock
reproduce` calls. The alloc paper has `graphs` and `adaptation` in place of `setup`, the e2df paper
a compiled `closed_loop`.
"""
