"""Strategies that do the work of a turn."""
