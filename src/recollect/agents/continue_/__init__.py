"""Continue: sessions of the extension and of the `cn` CLI. The folder is named so because `continue` is a keyword."""
