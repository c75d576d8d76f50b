"""What runs inside the sandbox with a forged tool: one file, the standard library, no import of ours."""
