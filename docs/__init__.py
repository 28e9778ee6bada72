"""The documentation: pages, and the code that draws and assembles them."""
