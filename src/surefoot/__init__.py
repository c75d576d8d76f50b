"""Surefoot: an autonomous software engineer that never takes a step it cannot prove."""

__version__ = "0.1.0"
