"""OpInfos: joining."""
