"""Tables on disk: rows, parts, ingest, assembly, and the corpus that reads them."""
