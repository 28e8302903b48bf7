"""Tools for those who work on Penstock; they are not part of the package."""
