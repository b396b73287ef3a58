"""Executors: :mod:`base` says what one is, :mod:`registry` which there are; every other module or folder is one."""
