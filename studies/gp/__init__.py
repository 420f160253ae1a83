"""Do the intervals of Gaussian processes on features hold?"""
