//! CubeCL's own tests, which it exports for runtimes. `suite.sh` compares what fails with the list `failures.txt`.

mod suite {
    use half::{bf16, f16};

    type TestRuntime = cubecl_hiplaunch::HipLaunchRuntime;

    cubecl_std::testgen!();
    cubecl_core::testgen_all!(f32: [f16, bf16, f32], i32: [i16, i32], u32: [u16, u32]);
    cubecl_core::testgen_complex_validation!();
    cubecl_core::testgen_launch_dynamic_count!();
    cubecl_core::testgen_profiling!();
    cubecl_core::testgen_profiling_nested!();
}
