"""A pipeline as an object, the file that describes it, and how it is deployed."""
