"""The parser that Cline and its forks share: two logs of one task, the files beside them, and the SDK's sessions."""
