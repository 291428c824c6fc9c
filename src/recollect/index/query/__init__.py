"""The query language: text to a typed question (`grammar`), dates (`dates`), patterns (`patterns`)."""
