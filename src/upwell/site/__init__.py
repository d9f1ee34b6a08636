"""How a site is asked: `forms` (what each is for), `declared` (SearchAction, OpenSearch), `interfaces` (what is sent), `links` (where to look)."""
