"""Tracing that may be rolled back, and traces that hold for a value."""
