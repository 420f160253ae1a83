"""Products of random projections, for kernels that are power series in xᵀx′."""

from rffbench.features.lazy import classes_of

FEATURES = {
    "maclaurin": "rffbench.features.dot_product.maclaurin:MaclaurinFeatures",
    "complex-to-real": "rffbench.features.dot_product.complex_to_real:ComplexToRealFeatures",
    "tensor-sketch": "rffbench.features.dot_product.tensor_sketch:TensorSketchFeatures",
}

__getattr__ = classes_of(FEATURES)
