"""Executors: :mod:`base` defines the interface, :mod:`registry` lists them; every other module or folder is an
executor.
"""
