"""What to ask next.

words              for probing: dictionary, the site's own, nonsense
snapshot           texts as words × documents, and which words to look at (Yuan ch. 3)
select             a dictionary of queries chosen from a snapshot (Yuan ch. 4–5, and better)
policy             the next query while harvesting
grammar            whether a source understands AND, NOT and phrases
size               how many records the source holds
logs               queries from a query log (Entity §4.1)
knowledge          queries from a knowledge base (Entity §4.2)
entity_questions   names of a knowledge base to ask for while harvesting
"""
