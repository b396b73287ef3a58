"""Array libraries: what tracing asks of each, and what each answers."""
