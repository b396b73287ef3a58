"""OpInfos: creation."""
