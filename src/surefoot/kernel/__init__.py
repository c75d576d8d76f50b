"""What happens and in which order: no I/O, no clock, no model."""
