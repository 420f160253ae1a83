"""Maps rows with one package, in that package's environment: run by peers.py, with nothing of rffbench.

The first line on standard input says what is to be mapped; every other line asks for it once. Each is answered "done".
"""

import json
import os
import sys


def scikit_learn(case, X):
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

    made = {
        "fourier": lambda: RBFSampler(gamma=0.5, n_components=case["columns"], random_state=0),
        "tensor-sketch": lambda: PolynomialCountSketch(degree=3, gamma=1.0, coef0=1, n_components=case["columns"]),
        "nystroem": lambda: Nystroem(gamma=0.5, n_components=case["columns"], random_state=0),
    }[case["map"]]()
    made.fit(X)
    return lambda: made.transform(X)


def scikit_learn_extra(case, X):
    from sklearn_extra.kernel_approximation import Fastfood

    made = Fastfood(sigma=1.0, n_components=case["columns"] // 2, random_state=0).fit(X)
    return lambda: made.transform(X)


def xgpr(case, X):
    import numpy as np
    from xGPR import KernelFGen

    kernel, settings = {"sorf": ("RBF", {}), "sorf-matern": ("Matern", {"matern_nu": 3 / 2})}[case["map"]]
    settings = {"intercept": False, **settings}
    made = KernelFGen(case["columns"], np.ones(1), case["d"], kernel, kernel_settings=settings, verbose=False)
    return lambda: made.predict(X, chunk_size=case["n"])


def rfflearn(case, X):
    from rfflearn.cpu.rfflearn_cpu_common import Base

    made = Base("rff", case["columns"], 1.0, None, None)
    made.set_weight(case["d"])
    return lambda: made.conv(X)


def gpytorch(case, X):
    import torch
    from gpytorch.kernels import RFFKernel

    made = RFFKernel(num_samples=case["columns"] // 2, num_dims=case["d"]).to(getattr(torch, case["dtype"]))
    rows = torch.from_numpy(X)

    def mapped():
        with torch.no_grad():
            made._featurize(rows, normalize=True)

    return mapped


def performer_pytorch(case, X):
    import torch
    from performer_pytorch.performer_pytorch import gaussian_orthogonal_random_matrix, softmax_kernel

    W = gaussian_orthogonal_random_matrix(case["columns"], case["d"])
    rows = torch.from_numpy(X)[None, None]

    def mapped():
        with torch.no_grad():
            softmax_kernel(rows, projection_matrix=W, is_query=True)

    return mapped


PEERS = {
    "scikit-learn": scikit_learn,
    "scikit-learn-extra": scikit_learn_extra,
    "xGPR": xgpr,
    "rfflearn": rfflearn,
    "gpytorch": gpytorch,
    "performer-pytorch": performer_pytorch,
}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print
    case = json.loads(sys.stdin.readline())
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(case["threads"])
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(case["n"], case["d"])) / np.sqrt(case["d"])
    try:
        mapped = PEERS[sys.argv[1]](case, rows.astype(case["dtype"]))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=answers, flush=True)
        raise
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(case["threads"])
    while True:
        print("done", file=answers, flush=True)
        if not sys.stdin.readline():
            break
        mapped()


if __name__ == "__main__":
    main()
