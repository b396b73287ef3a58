"""OpInfos: statistics."""
