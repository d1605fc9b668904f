//! What kernels compute, and how they are scheduled, is what a GPU does.
