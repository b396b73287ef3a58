"""``numpy.linalg``."""
