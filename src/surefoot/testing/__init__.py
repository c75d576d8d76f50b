"""Fakes that ship with the product: they obey the same contract tests as the real adapters."""
