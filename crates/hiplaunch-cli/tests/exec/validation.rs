//! A right program is not accused, and a wrong one is.
