"""The hot kernels: fused cosines and sines, triangles, Walsh–Hadamard transforms, sketches, kernel rows."""
