"""Keep harvests on disk.

archive         WARC files with every exchange
state           outcomes of requests and records; `read_only` reads it without locking
location        where a state lies: an SQLite file (`sqlite`) or a PostgreSQL database (`postgres`), both behind `database`
folder          folder of a site's harvest, with its state and archive
remote          files and folders at an fsspec URL
shared_queries  knowledge base and query log shared by all sites of a run
"""
