"""Objects and classes of the user's, and what Python asks of them: attributes, identity, type."""
