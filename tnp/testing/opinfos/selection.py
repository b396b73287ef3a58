"""OpInfos: selection."""
