"""What executors share and none of them owns: calls of attention, printing of views, kernels for the CPU, errors of
devices.
"""
