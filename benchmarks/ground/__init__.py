"""The proving ground: the chooser and the ledger against simulated sources made of real records, without HTML and without sockets.

source       how a simulated source answers
settings     the named grid of sources
collections  the records that they are made of
oracle       what one could do who knew everything
run          one harvest, and what it measures
report       tables and plots over many
"""
