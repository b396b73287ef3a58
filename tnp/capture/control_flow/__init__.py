"""Loops and branches as operations of the trace."""
