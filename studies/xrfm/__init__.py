"""Is xRFM, a kernel machine that learns its metric, better than maps and trees? Beaglehole, Holzmüller, Radhakrishnan
and Belkin 2025, arXiv 2508.10053. It learns without a map. rffbench does not depend on it, as PyTorch would come with
it: a study of its own says whether it should."""
