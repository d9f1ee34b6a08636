"""Cut an answer into records, and read record pages.

leaves          a page as a sequence of leaves
cuts            all ways to cut a page into repeated pieces    evidence    which of them cuts out the records
cut_rules       learned cuts, applied to later answers
fields          the pieces of text of a record                 record_columns   the columns of a source
values          types of texts: numbers, prices, dates …       column_names     names from the page
record_page     the texts of a page that describes one entity
entity_columns  columns of a set of such pages                 entity_model     one row per page
"""
