"""The written report: the same sentences and tables as Markdown and as HTML, in English or Chinese."""
