"""Native kernels for the CPU that are faster than those of libraries. Executors call them by name."""
