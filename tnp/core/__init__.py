"""The core: the IR of programs, independent of array libraries.

Read in this order: :mod:`dtypes`, :mod:`devices`, :mod:`sizes` (the metadata of arrays), :mod:`proxies` (their
stand-ins while tracing), :mod:`symbol` and :mod:`trace` (operations and programs), :mod:`languages` (the semantics of
methods and operators), :mod:`prims` (the primitive operations), :mod:`clang` (the core language over them) and
:mod:`views` (writing through a view).
"""
