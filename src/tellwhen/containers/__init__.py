"""Growing arrays, lists of lists, many texts in one buffer: containers of flat arrays."""
