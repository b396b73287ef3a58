"""The compile driver: from function to trace, from trace to guarded program, and the cache of programs."""
