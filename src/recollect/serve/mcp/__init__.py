"""The MCP server: tools that read the memory and cite it, over stdio and streamable HTTP."""
