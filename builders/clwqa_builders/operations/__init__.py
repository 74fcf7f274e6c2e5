"""The extension set by reasoning operation: what is asked is not what a pattern returns but what follows from it."""
