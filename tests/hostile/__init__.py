"""Sites that are not to be trusted: a real server records what reaches it, and nothing that acts, nothing private, may reach it."""
