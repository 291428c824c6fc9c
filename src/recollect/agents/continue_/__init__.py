"""Continue: sessions of the extension and of the `cn` CLI; `continue` itself is a Python keyword."""
