"""Mechanical fixes of single findings: syntax-tree edits that need no model."""
