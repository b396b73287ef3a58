"""OpInfos: sorting."""
