//! Lazy tensors: arithmetic that is recorded first and computed in one submission.
//!
//! ```text
//!  a.add(&b).mul(5.0).sub(&a)          compute()
//!  ┌──────────────────────────┐        ┌─────────────────────┐       ┌───────────────────────┐
//!  │ immutable nodes, shared: │ what   │ a graph: a launch   │ once  │ planned, cached,      │
//!  │      sub                 ├───────▶│ an operation, a     ├──────▶│ one submission        │──▶ a tensor that
//!  │     /   \                │ root   │ temporary a result; │       │ (hiplaunch::graph)        │    is data
//!  │   mul    a    shapes     │ needs  │ elementwise kernels │       └───────────────────────┘
//!  │   /  \        checked    │        │ in place            │
//!  │ add   5.0                │        └─────────────────────┘
//!  │ / \                      │
//!  │a   b                     │
//!  └──────────────────────────┘
//! ```
//!
//! The kernels come with the library (`hip/tensor.hip`), for gfx90a and gfx942. Where the HIP runtime compiler is there,
//! elementwise operations that only each other read become one kernel, with the same bits. The graph of an expression
//! serves the next one that differs in data and scalars alone.

mod clusters;
mod compute;
mod context;
mod dag;
mod element;
mod error;
mod fuse;
mod kept;
mod kernels;
mod lazy;
mod lower;
mod lowered;
mod node;
mod op;

pub use context::{MAX_ELEMENTS, Tensors};
pub use element::{Element, ElementType, FloatElement};
pub use error::{Error, Result};
pub use lazy::{LazyTensor, Operand, ROW_SUM_FROM};
