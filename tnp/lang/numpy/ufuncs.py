"""NumPy's ufuncs that are compositions, and the methods of all ufuncs."""
