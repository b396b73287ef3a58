"""Source-to-source rewriting: inserts hooks into a user's function, where Python has no protocol to override."""
