"""The harvest of a site: `loop` (drives the generators), `session` (one source), `reader`, `chooser`, `ledger`; `summary`, `report` and `files` at its end."""
