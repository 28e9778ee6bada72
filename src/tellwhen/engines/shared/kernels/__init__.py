"""Loops that several engines share and that nothing below them needs."""
