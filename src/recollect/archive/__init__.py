"""The exact copy: content-chosen chunks, sealed, in packs, with a journal that alone can rebuild the rest."""
