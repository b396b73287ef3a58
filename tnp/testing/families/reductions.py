"""OpInfos: reductions."""
