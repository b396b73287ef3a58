"""Executors: :mod:`base` says what one is, :mod:`registry` which there are, :mod:`shared` has what several use; the
others are executors.
"""
