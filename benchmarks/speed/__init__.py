"""Speed as ratios in one run against a named reference; never an assertion on seconds."""
