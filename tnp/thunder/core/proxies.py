"""``thunder.core.proxies``: :mod:`tnp.core.proxies`."""

from tnp.core.proxies import Number, NumberProxy, ObjectProxy, Proxy, TensorProxy, pyval

AnyProxy = ObjectProxy

__all__ = ["AnyProxy", "Number", "NumberProxy", "Proxy", "TensorProxy", "pyval"]
