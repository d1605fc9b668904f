//! The cache policy of gfx12: a temporal hint and a scope, in place of single bits.

use super::super::text::Text;
use super::super::words::Words;
use crate::row::{MemoryAccess, Row};

/// The names of the scopes: the caches that threads in a scope share are those that the access uses.
const SCOPES: [&str; 4] = ["CU", "SE", "DEV", "SYS"];
const DEVICE: u32 = 2;
const SYSTEM: u32 = 3;

/// Returns the name of a temporal hint of a load or a store, without its prefix; `None` if it has none.
fn hint_of_access(store: bool, hint: u32, scope: u32) -> Option<&'static str> {
    Some(match hint {
        1 => "NT",
        2 => "HT",
        3 if scope == SYSTEM => "BYPASS",
        3 if store => "WB",
        3 => "LU",
        4 => "NT_RT",
        5 => "RT_NT",
        6 => "NT_HT",
        7 if store => "NT_WB",
        _ => return None,
    })
}

/// Returns the name of a temporal hint of an atomic, without its prefix; `None` if it has none. Its bits are: return the old value, non-temporal,
/// and cascade the atomic to a wider scope.
fn hint_of_atomic(hint: u32, scope: u32) -> Option<&'static str> {
    Some(match hint {
        1 => "RETURN",
        2 => "NT",
        3 => "NT_RETURN",
        4 | 5 if scope >= DEVICE => "CASCADE_RT",
        6 | 7 if scope >= DEVICE => "CASCADE_NT",
        _ => return None,
    })
}

impl Words {
    /// Appends the temporal hint and the scope, unless they are the usual ones, which are 0.
    pub(in super::super) fn hint_and_scope(&self, t: &mut Text<'_>, row: &Row, hint: u32, scope: u32) {
        if hint != 0 {
            let (prefix, name) = match row.access() {
                Some(MemoryAccess::Atomic) => ("TH_ATOMIC_", hint_of_atomic(hint, scope)),
                Some(MemoryAccess::Store) => ("TH_STORE_", hint_of_access(true, hint, scope)),
                _ => ("TH_LOAD_", hint_of_access(false, hint, scope)),
            };
            match name {
                Some(name) => t.modifier(format_args!("th:{prefix}{name}")),
                // LLVM prints the prefix only for atomics.
                None if prefix == "TH_ATOMIC_" => t.modifier(format_args!("th:{prefix}{hint:#x}")),
                None => t.modifier(format_args!("th:{hint:#x}")),
            }
        }
        if scope != 0 {
            t.modifier(format_args!("scope:SCOPE_{}", SCOPES[(scope & 3) as usize]));
        }
    }
}
