//! What crosses the border to programs: arguments, structures, status codes, and the versions of HIP on which they depend.

pub(crate) mod c_caller;
pub(crate) mod status;
pub(crate) mod structs;
pub(crate) mod version;

pub(crate) use c_caller::{Address, Handle, HostFn, In, Out, StaticText, Text, UserData};
pub(crate) use status::{HipResult, Status};
pub(crate) use structs::*;
