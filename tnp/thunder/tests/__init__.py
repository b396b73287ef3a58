"""``thunder.tests``: :mod:`tnp.testing`, by Thunder's names."""
