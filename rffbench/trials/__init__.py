"""One trial, or several that share work: the request, the work, and the measurements."""
