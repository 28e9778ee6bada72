"""The HTTP paths. A route parses its request, calls a function of another module, and returns its result as JSON."""
