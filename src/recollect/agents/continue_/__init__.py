"""Continue: sessions of the extension and of the `cn` CLI; `continue` is a keyword, hence the underscore."""
