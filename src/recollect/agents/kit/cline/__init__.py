"""The parser of Cline and its forks: a task's two logs, the files beside them and the SDK's sessions."""
