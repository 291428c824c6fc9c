"""The MCP server: five tools that read the memory and cite it, over stdio and streamable HTTP."""
