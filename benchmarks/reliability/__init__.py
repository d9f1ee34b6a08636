"""Reliability benchmarks: harvests of real applications (`zoo`), kills (`kill`), server faults (`faults`), many concurrent sites (`load`,
`many`), clusters (`cluster`), memory (`memory`).
"""
