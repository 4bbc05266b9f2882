"""The run directory: what a fit writes, and how it goes on after a stop."""
