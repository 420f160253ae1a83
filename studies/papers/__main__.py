"""All that is derived from results/ for single papers: python -m studies.papers"""

from studies.papers import search
from studies.papers.lectures import __main__ as lectures
from studies.papers.liu2020 import __main__ as liu2020

if __name__ == "__main__":
    lectures.write()
    liu2020.write()
    search.write()
