//! A fault reaches the program, whichever call waits for it.
