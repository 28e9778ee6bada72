"""Kernels that expand programs to trees and gather the satisfied leaves of an event."""
