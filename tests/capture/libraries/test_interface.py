"""Each array library answers all that tracing asks of one."""

import importlib
import inspect

import numpy as np
import pytest

from tnp.capture.libraries import base
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.core import languages


@pytest.mark.parametrize("module, name", [("numpy.library", "Numpy"), ("cupy", "Cupy"), ("torch", "Torch")])
def test_a_library_answers_all_questions(module, name):
    if module == "torch":
        pytest.importorskip("torch")
    library = getattr(importlib.import_module(f"tnp.capture.libraries.{module}"), f"{name}Library")
    questions = {n: f for n, f in vars(base.Library).items() if inspect.isfunction(f)}
    to_be_answered = {n for n, f in questions.items() if "raise NotImplementedError" in inspect.getsource(f)}
    assert len(to_be_answered) > 10
    assert not {n for n in to_be_answered if getattr(library, n) is questions[n]}
    assert library.functions


def test_what_is_computed_in_the_cores_terms_is_numpys():
    assert languages.core.library is NUMPY.language.library is NUMPY
    assert base.library_of_value(np.ones(2)) is None  # of those beside NumPy
