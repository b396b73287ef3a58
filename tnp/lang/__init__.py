"""The languages that users write: NumPy's and torch's functions and methods, in terms of the core language."""
