"""The figures and tables of the papers, each an experiment with the same name."""
