//! gfx90a and gfx942 on the CPU.
