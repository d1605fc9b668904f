//! LDS layouts: the cases of nvFuser's allocator as bounds, and random kernels against every path through them.

mod errors;
mod picture;
mod properties;
mod random;
mod table;
