"""A retrospective for people: as Markdown, and as one page of HTML with plots."""
