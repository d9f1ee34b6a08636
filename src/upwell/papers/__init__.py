"""The methods of the four papers as published, one module per paper; `docs/papers.md` compares their figures with ours.

thor      Caverlee & Liu 2005 and Caverlee, Buttler & Liu: page clusters, pagelets, objects
entity    He et al. 2013: queries from logs and knowledge bases, empty pages, irrelevant URL arguments
wisdom    Kao, Ho & Chen 2005: term entropies and informative blocks
yuan      Yuan 2007: snapshots and query selection
"""
