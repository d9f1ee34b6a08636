"""What several sources say together: their tables read alike, columns aligned, rows matched, everything compared.

tables       a table of any format in memory, with a key for each row
columns      which columns of several tables mean the same
match        which rows of two tables are the same thing
compare      one table for several sources: who has what, and where they differ
"""
