"""Models: the embedded one, OpenAI-compatible endpoints, and the weights."""
