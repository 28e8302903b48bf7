"""Payments that are looked up in another system and scored."""
