"""Reliability, measured: whole applications harvested (`zoo`), kills (`kill`), server faults (`faults`), many sites at once (`load`)."""
