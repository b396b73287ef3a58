"""OpInfos: linalg."""
