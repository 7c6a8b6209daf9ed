"""Parsing of XML to elements with locations, with repairs of malformed XML."""
