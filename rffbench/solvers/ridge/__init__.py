"""Ridge regression: streamed over row blocks, in the dual, exact with the kernel, on a PyTorch device."""
