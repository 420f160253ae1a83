"""Speed and memory against peers: the same work, in one process or one after the other, the same threads.

``python -m benchmarks`` measures everything and writes docs/performance.md and docs/performance.json.
"""
