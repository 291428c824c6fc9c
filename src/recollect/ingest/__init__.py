"""One pass, readable top to bottom: discover → read → archive → parse → redact → store → index."""
