"""One file per concern; every rule is a value, listed in `registry.RULES`."""
