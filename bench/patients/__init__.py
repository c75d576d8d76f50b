"""Bugs that real released packages had, each with the test that its fix brought, written from the changelog."""
