"""Work with URLs: `hosts` (sites and hosts), `arguments` (arguments anywhere in a URL), `patterns` (URL patterns of records),
`acting` (requests that would change something).
"""
