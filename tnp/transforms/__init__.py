"""Transforms: functions from traces to traces, in the order in which :mod:`pipeline` runs them."""
