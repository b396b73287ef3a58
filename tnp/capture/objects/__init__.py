"""Stand-ins for user objects and classes: attributes, identity, type."""
