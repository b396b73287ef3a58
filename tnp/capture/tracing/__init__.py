"""The run-time support of tracing: traced values, views and aliasing, effects, hooks."""
