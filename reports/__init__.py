"""Run records as HTML, JUnit XML, Markdown, SARIF, Parquet and terminal text."""
