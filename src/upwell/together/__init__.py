"""What several sources say together: their tables read alike, columns aligned, rows matched, everything compared.

values             what the verbs give; loads nothing heavy
tables             a table of any format in memory, with a key for each row
terms, candidates  texts as vectors; which pairs of rows are worth comparing
similarity         how alike two rows are, column by column
columns            which columns of several tables mean the same
match              which rows of two tables are the same thing
things             the rows of several tables that are the same thing; duplicates in one table
differences        where sources differ
field_size         how many things there are in all
compare            all of it: one table, a summary, a report
verbs              match and compare as the command line and Python call them
"""
