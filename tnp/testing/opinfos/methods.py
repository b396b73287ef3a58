"""OpInfos: methods."""
