"""NumPy: what its functions and arrays do that is no operation of the language."""
