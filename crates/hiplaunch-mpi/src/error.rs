//! The errors of the crate. Each names the rank and the call.

use std::path::Path;
use std::sync::Arc;

/// The result of every function of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of an exchange. After the first error of an operation its [`Communicator`](crate::Communicator) is failed:
/// every later call returns the same error, and the other ranks get [`Error::RankFailed`].
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// MPI was not initialized, or was initialized with too little support of threads.
    #[error("MPI: {0}")]
    Environment(Box<str>),
    /// A call of MPI failed.
    #[error("rank {rank}: {call} failed: error class {class}: {message}")]
    Mpi {
        /// The rank on which the call failed.
        rank: usize,
        /// The call.
        call: &'static str,
        /// The error class (MPI 4.0, table 9.1).
        class: i32,
        /// The text of `MPI_Error_string`.
        message: Box<str>,
    },
    /// The rank has no device.
    #[error("rank {rank} on {host} (local rank {local_rank} of {local_size}) has no device: {problem}")]
    NoDevice {
        /// The rank.
        rank: usize,
        /// The name of its machine.
        host: Box<str>,
        /// Its number among the ranks of the machine.
        local_rank: usize,
        /// The number of ranks on the machine.
        local_size: usize,
        /// Why, and what to do.
        problem: Box<str>,
    },
    /// A variable of the process manager is not a number.
    #[error(
        "{variable}={value:?} is not a local rank; unset it, or start the program with its process manager"
    )]
    LocalRank {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: Box<str>,
    },
    /// A message is longer or shorter than the receiver announced.
    #[error(
        "rank {rank}: recv of tag {tag} from rank {from} announced {announced} bytes, and the message has {}; send and receive views of equal size",
        .got.map_or("more".into(), |got| got.to_string())
    )]
    MessageSize {
        /// The rank that receives.
        rank: usize,
        /// The rank that sent.
        from: usize,
        /// The message's tag.
        tag: u16,
        /// The bytes of the receiver's view.
        announced: usize,
        /// The bytes of the message, where MPI tells.
        got: Option<usize>,
    },
    /// Ranks make different collective calls at one time ([`Options::check_collectives`](crate::Options::check_collectives)).
    #[error(
        "rank {rank}: {call} of {bytes} bytes is not what other ranks call at this time; all ranks enqueue the same collective \
         operations, of views of one length, in the same order"
    )]
    CollectiveDiffers {
        /// The rank.
        rank: usize,
        /// What it called.
        call: &'static str,
        /// The bytes that it gave.
        bytes: usize,
    },
    /// Ranks have different code objects under one kernel's name.
    #[error(
        "kernel `{kernel}`: the code object of ranks {ranks:?} is not that of rank 0; install the same files on all nodes"
    )]
    CodeDiffers {
        /// The kernel's name on this rank.
        kernel: Box<str>,
        /// The ranks whose code object or kernel's name differs from that of rank 0.
        ranks: Vec<usize>,
    },
    /// Another rank failed and said why.
    #[error("rank {rank} failed: {report}")]
    RankFailed {
        /// The rank that failed first.
        rank: usize,
        /// Its report.
        report: Box<str>,
    },
    /// An operation did not finish in time.
    #[error("rank {rank}: {call}{} did not finish within {seconds} s; the other rank may hang, or never call its counterpart", of_peer(.peer))]
    Timeout {
        /// The rank that waited.
        rank: usize,
        /// The operation.
        call: &'static str,
        /// The other rank of a message.
        peer: Option<usize>,
        /// [`Options::timeout`](crate::Options::timeout), in seconds.
        seconds: f64,
    },
    /// An argument is wrong; nothing was enqueued.
    #[error("{call}: {problem}")]
    Invalid {
        /// The function.
        call: &'static str,
        /// What is wrong, and what to do.
        problem: Box<str>,
    },
    /// A file could not be written.
    #[error("rank {rank}: {}: {source}; check the folder, its rights and the disk's space", .path.display())]
    File {
        /// The rank.
        rank: usize,
        /// The file.
        path: Box<Path>,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// A call of the launcher failed.
    #[error("rank {rank}: {source}")]
    Launcher {
        /// The rank.
        rank: usize,
        /// The launcher's error.
        source: Arc<hiplaunch::Error>,
    },
}

fn of_peer(peer: &Option<usize>) -> String {
    peer.map(|peer| format!(" with rank {peer}")).unwrap_or_default()
}

impl Error {
    pub(crate) fn invalid(call: &'static str, problem: impl Into<String>) -> Error {
        Error::Invalid { call, problem: problem.into().into_boxed_str() }
    }

    pub(crate) fn launcher(rank: usize, source: hiplaunch::Error) -> Error {
        Error::Launcher { rank, source: Arc::new(source) }
    }
}
