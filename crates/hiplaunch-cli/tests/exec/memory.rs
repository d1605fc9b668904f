//! Memory, pools and graphs do what HIP's documentation says.
