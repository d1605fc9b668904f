"""The kernels, by subject. Each workload is a function that makes the arrays of a case, its launch and its reference."""
