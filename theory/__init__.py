"""Stub until the package is whole."""
