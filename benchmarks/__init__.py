"""Measurements on real data: ``python -m benchmarks`` runs all, ``python -m benchmarks NAME`` one of them."""
