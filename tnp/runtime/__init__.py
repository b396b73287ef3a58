"""Services of the process: locks that survive forks, logs, the disk cache, memory."""
