"""The figures and tables of the five papers, each as an experiment named after it."""
