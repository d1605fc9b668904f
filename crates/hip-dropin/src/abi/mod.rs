//! What crosses the border to programs: arguments, structures, status codes, and the versions of HIP on which they depend.

pub(crate) mod c_caller;
pub(crate) mod status;
pub(crate) mod structs;
pub(crate) mod version;
