//! Where buffers go in one block of memory: offsets for buffers whose lifetimes are known, so that no two that are live
//! together overlap, in as few bytes as possible.
//!
//! This is dynamic storage allocation, which lays out the LDS of a kernel, the temporaries of a graph, and any arena of
//! scratch. It is pure: no device, no memory, nothing else of this crate.
//!
//! ```text
//! bytes ^
//!       |   +---------+        a [0, 4]  b [2, 7]  c [5, 9]
//!   48  |   |    b    |        `a` is dead before `c` begins, so `c` takes its bytes.
//!   32  |---+--+---+--+----+
//!       |  a   |   |   c   |
//!    0  +------+---+-------+--> time
//! ```
//!
//! [`plan`] takes the best of several greedy orders, and where that is above the lower bound, a branch-and-bound search
//! and simulated annealing within a budget. The answer depends on the problem and a budget of nodes alone; a budget of
//! time makes it depend on the machine. [`verify`](verify()) shares no code with any, and accepts every plan that `plan`
//! gives.
//!
//! ```
//! use offset_planner::{Buffer, PlanOptions, Problem, plan, verify};
//!
//! let mut problem = Problem::builder();
//! let a = problem.add(Buffer::closed("a", 32, 0..=4))?;
//! let b = problem.add(Buffer::closed("b", 16, 2..=7))?;
//! let c = problem.add(Buffer::closed("c", 32, 5..=9))?;
//! let problem = problem.build()?;
//! let plan = plan(&problem, &PlanOptions::default())?;
//! verify(&problem, &plan)?;
//! assert_eq!(plan.offset(a), plan.offset(c));
//! assert_eq!((plan.total(), plan.is_optimal()), (48, true));
//! # assert!(plan.offset(b).is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anneal;
mod bound;
mod cliques;
mod error;
mod exact;
mod greedy;
mod instance;
mod joins;
mod online;
mod order;
mod plan;
mod polish;
mod problem;
pub mod rectangle;
mod search;
mod verify;

pub use error::OffsetsError;
pub use plan::{Budget, Fit, Goal, Method, Plan, PlanOptions, SortBy, plan};
pub use problem::{Buffer, BufferId, Lifetime, NodeId, Problem, ProblemBuilder};
pub use verify::{VerifyError, verify, verify_offsets};
