"""Build, type, read and write tables.

rows              rows and columns, in memory or streamed
schema            columns of a table, inferred from all rows    extraneous_fields   fields that describe the query or another record
types             typed values                                  build               the tables of a harvest
writers, parquet  write files                                   readers             read tables and queries given by the user
"""
