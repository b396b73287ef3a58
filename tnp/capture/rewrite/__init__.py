"""From source to source: a user's function with hooks in it, where Python's protocols do not reach."""
