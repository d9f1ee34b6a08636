"""The verbs that work on saved pages, archives and tables: nothing is harvested here."""
