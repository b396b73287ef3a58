"""Differences, gradients, integrals, interpolation."""
