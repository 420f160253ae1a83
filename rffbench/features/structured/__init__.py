"""Frequencies of structured matrices: orthogonal ones, products with Hadamard matrices, sketches."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "orthogonal": "rffbench.features.structured.orthogonal:OrthogonalRandomFeatures",
    "simplex": "rffbench.features.structured.simplex:SimplexRandomFeatures",
    "sorf": "rffbench.features.structured.sorf:StructuredOrthogonalFeatures",
    "rom": "rffbench.features.structured.rom:RandomOrthoMatrixFeatures",
    "fastfood": "rffbench.features.structured.fastfood:FastfoodFeatures",
    "srht": "rffbench.features.structured.srht:SRHTFeatures",
    "countsketch-gaussian": "rffbench.features.structured.countsketch:CountSketchGaussianFeatures",
    "compact": "rffbench.features.structured.compact:CompactFeatures",
}

__getattr__ = classes_of(FEATURES)
