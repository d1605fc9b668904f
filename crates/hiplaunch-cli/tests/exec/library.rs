//! The library is found, starts and answers as AMD's does.
