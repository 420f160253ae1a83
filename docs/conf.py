"""How the pages become a site: `make docs`. Nothing is fetched, neither here nor by a browser that shows it."""

import rffbench

project = "rffbench"
author = copyright = "The rffbench maintainers"
release = rffbench.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"rffbench {release}"
html_copy_source = False

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]
default_role = "literal"
