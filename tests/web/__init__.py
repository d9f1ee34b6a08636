"""Tests of the web pages and the MCP server."""
