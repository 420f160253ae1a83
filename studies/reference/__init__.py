"""Tables of the reference pages: what the package says of itself, and what was measured of single methods."""
