//! The kernels of `hip/` that commands launch, for every device.

use std::sync::LazyLock;

use hiplaunch::FatBinary;

const HEADER: &str = include_str!("../hip/kernel.h");

/// hip/bench.hip.
pub(crate) static BENCH: LazyLock<FatBinary<'static>> = LazyLock::new(|| {
    FatBinary::new("bench", include_bytes!("../hip/bench.hipfb").as_slice())
        .source(include_str!("../hip/bench.hip"))
        .header("kernel.h", HEADER)
});

/// hip/vector.hip.
pub(crate) static VECTOR: LazyLock<FatBinary<'static>> = LazyLock::new(|| {
    FatBinary::new("vector", include_bytes!("../hip/vector.hipfb").as_slice())
        .source(include_str!("../hip/vector.hip"))
        .header("kernel.h", HEADER)
});
