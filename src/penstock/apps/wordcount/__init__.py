"""The word count of the e2df paper."""
