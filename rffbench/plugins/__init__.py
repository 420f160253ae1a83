"""Parts by name: the built-in ones, those of other packages, classes in a user's own file; what a part declares that it
serves, and the skeleton of a new one. A part's own code is elsewhere."""
