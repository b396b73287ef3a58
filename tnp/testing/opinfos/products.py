"""OpInfos: products."""
