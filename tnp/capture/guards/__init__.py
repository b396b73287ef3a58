"""Inputs of a trace, the guards under which it is valid, and the prologue that checks them."""
