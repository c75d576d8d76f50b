"""A plan, executed: every unit a run of its own, its work merged in the plan's order and proved again."""
