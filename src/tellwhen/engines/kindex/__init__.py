"""Parked."""
