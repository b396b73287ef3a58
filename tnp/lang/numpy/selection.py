"""Choosing elements by conditions and positions, and writing to them."""
