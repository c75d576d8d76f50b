"""Recurring work in three domains, a scripted model that does it, and a place to run it without the cost of a test runner."""
