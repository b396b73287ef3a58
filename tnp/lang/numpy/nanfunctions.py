"""Reductions that pass over NaN."""
