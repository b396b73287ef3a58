"""The core: what a program is made of, knowing no array library.

Read in this order: :mod:`dtypes`, :mod:`devices`, :mod:`sizes` (what an array is), :mod:`proxies` (what stands
for one while tracing), :mod:`symbol` and :mod:`trace` (operations and the programs they form), :mod:`languages`
(what a method or an operator means), :mod:`prims` (the primitive operations), :mod:`clang` (the core language
over them) and :mod:`views` (writing through a view).
"""
