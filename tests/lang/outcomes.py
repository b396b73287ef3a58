"""What a call comes to."""


def outcome(f, *args):
    """The result of a call, or the exception that it raises."""
    try:
        return f(*args)
    except Exception as error:
        return error
