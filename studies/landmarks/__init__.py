"""Do chosen landmarks help the Nyström map?"""
