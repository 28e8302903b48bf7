"""The experiments of the papers, one file each, beside the figures that they printed."""
