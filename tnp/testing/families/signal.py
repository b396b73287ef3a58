"""OpInfos: signal."""
