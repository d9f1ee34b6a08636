"""How a site is asked: `forms` (what each form of a page is for), `templates` (the request that a filled form sends)."""
