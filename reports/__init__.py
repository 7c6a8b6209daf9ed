"""Run records as HTML, JUnit XML, Markdown, SARIF and terminal text."""
