"""Tests of the page in the browser and of the MCP server."""
