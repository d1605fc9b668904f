//! Decoding: machine code to [`Inst`](crate::exec::inst::Inst)s, once, when a program is first used.

mod decoder;
mod mem;
mod program;
mod scalar;
#[cfg(test)]
mod tests;
mod vop;
mod vop3p;
