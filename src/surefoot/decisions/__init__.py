"""Typed decisions: each is a function from a frozen value to a frozen value, by rule or by model."""
