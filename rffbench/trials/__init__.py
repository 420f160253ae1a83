"""One trial, or several that share work: what is asked, how it is done, what is measured."""
