//! Assigns offsets in one block of memory to buffers whose lifetimes are known, so that no two that are live at the
//! same time overlap, in as few bytes as possible.
//!
//! The problem is known as dynamic storage allocation. It arises for the LDS of a kernel, the temporaries of a graph,
//! and any preallocated memory. This crate only computes: it uses no device and allocates no memory for the buffers.
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
//! [`plan`] takes the best of several greedy plans. If it is above the lower bound, branch and bound and simulated
//! annealing improve it within a budget. With a budget of nodes the result depends on the problem and the budget alone;
//! with a budget of time it depends on the machine. [`verify`](verify()) shares no code with the algorithms, and
//! accepts every plan that `plan` returns.
//!
//! A lifetime is an interval, or from a node of a graph to others. Where neither says which buffers may share bytes, the
//! pairs that may not are given ([`Lifetime::Conflicts`]).
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
mod local_search;
mod merge;
mod online;
mod order;
mod plan;
mod planner;
mod problem;
mod random;
mod search;
mod verify;

pub use bound::lower_bound;
pub use error::{BufferProperty, OffsetsError};
pub use plan::{Budget, Fit, Goal, Method, Plan, PlanOptions, SortBy};
pub use planner::plan;
pub use problem::{Buffer, BufferId, Lifetime, NodeId, Problem, ProblemBuilder};
pub use verify::{VerifyError, verify, verify_offsets};
