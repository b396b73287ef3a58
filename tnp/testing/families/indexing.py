"""OpInfos: indexing."""
