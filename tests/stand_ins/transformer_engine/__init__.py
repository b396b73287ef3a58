"""Stands in for Transformer Engine: what is documented of its linear layers, quantised by torch's own 8-bit dtypes on the CPU."""
