"""The loop: `learn` (the source model), `loop` (ask, read, ask again), `report` (what people see), `events` (what observers get)."""
