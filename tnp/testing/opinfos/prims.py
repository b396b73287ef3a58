"""OpInfos: prims."""
