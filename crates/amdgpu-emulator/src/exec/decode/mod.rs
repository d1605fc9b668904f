//! Decodes the machine code of a program to [`Inst`](crate::exec::inst::Inst)s, once, when the program is first
//! dispatched.

mod decoder;
mod mem;
mod program;
mod scalar;
#[cfg(test)]
mod tests;
mod vop;
mod vop3p;
mod vopd;
