"""Tests of the web interface and of the MCP server."""
