"""Speculative tracing with rollback, and value specialization."""
