//! What AMD's libamdhip64 exports beside HIP's functions: conversions of halves that compilers call on the host, and the version of
//! the debugger's interface.
