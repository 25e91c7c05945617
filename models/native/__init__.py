"""The C library: kernels for each kind of processor, a pool of threads, and its loader."""
