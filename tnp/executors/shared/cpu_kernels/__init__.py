"""Kernels for the CPU that libraries have in a slower form, as native code of tnp's own; executors call them by
name.
"""
