"""NumPy's adapter: functions and array methods that are not operations of the NumPy language."""
