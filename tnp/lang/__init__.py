"""The user languages: functions and methods of NumPy and torch, in terms of the core language."""
