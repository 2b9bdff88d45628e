"""One recipe per coding agent: how it is pointed at the proxy."""
