"""Run the chooser and the ledger against simulated sources of real records, without HTML and sockets.

source       how a simulated source answers
settings     the named grid of sources
collections  the records of the sources
oracle       requests needed with complete knowledge of the source
run          one harvest and its measurements
report       tables and plots of many harvests
"""
