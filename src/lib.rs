//! hiplaunch.
