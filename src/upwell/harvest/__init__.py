"""The loop: `ways` (how a site is asked), `learn` (the source model), `loop` (ask, read, ask again), `result` (what it brought), `report`, `events`."""
