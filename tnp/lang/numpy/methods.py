"""ndarray's attributes and methods."""
