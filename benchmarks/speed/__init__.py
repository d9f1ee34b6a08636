"""Speed as ratios to a named reference in the same run; never an assertion on seconds."""
