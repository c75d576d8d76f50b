"""Runs inside the fence."""
