"""The driver: a function becomes a trace, the trace a program behind guards, and programs are kept."""
