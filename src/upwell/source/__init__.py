"""The source model: learn it (`learn`), apply it to an answer (`apply`), page on (`paging`), notice changes (`drift`), save and load (`model`)."""
