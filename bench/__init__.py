"""Measurements of Surefoot on work that nobody chose; see README.md."""
