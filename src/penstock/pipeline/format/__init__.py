"""The file that describes a pipeline, read with the place of every value and checked."""
