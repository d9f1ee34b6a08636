"""How a site is asked: `forms` (what each is for), `declared` (SearchAction, OpenSearch), `templates` (what is sent), `links` (where to look)."""
