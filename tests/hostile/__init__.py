"""Untrusted sites: a real server records the requests that it gets; none of them may act or reach anything private."""
