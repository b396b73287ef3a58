"""Adapters of array libraries: their interface to tracing, and one implementation per library."""
