"""What an answer says: `pagelets` (the region of the matches), `objects` (each match), `fields` (what each match says)."""
