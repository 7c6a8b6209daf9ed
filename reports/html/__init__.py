"""HTML reports: templates, pages and the 3D viewer."""
