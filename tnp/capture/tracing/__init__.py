"""What user code holds and does while it is traced: traced values, views and aliasing, effects, hooks."""
