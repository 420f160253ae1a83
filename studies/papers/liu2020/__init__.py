"""Liu et al. 2020: on which scale of λ methods agree, and the dimensions and the error of their theory."""
