"""What a page says: records of answers (`cut_candidates`, `pagelets`, `cut_rules`, `fields`, `columns`, `values`), blocks of ordinary pages
(`lines`, `blocks`, `tocs`), and the papers' own methods (`thor`, `separators`, `wisdom`, `entropy`).
"""
