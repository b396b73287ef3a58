"""``numpy.fft``."""
