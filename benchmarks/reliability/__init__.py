"""Reliability, measured: real applications harvested whole, kills, faults, load."""
