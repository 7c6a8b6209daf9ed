"""HTML reports: templates, pages and the 3D viewer; bundles of scripts are in `static`."""
