"""From raw idiom rows to typed records: ingest, repair, parse (pure functions over rows)."""
