"""Process-wide services: fork-safe locks, logs, the disk cache, memory, threads."""
