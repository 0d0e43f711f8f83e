"""Named measures over a corpus: tidy estimates."""
