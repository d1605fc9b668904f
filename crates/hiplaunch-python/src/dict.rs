//! Dicts of what structs have.

/// Makes a dict of fields of a struct, under their names: `dict!(py, launch => grid, block)`. With the struct's type and the
/// fields that are left out, the compiler sees that no other is forgotten: `dict!(py, Launch: launch => grid, block; kernel)`.
macro_rules! dict {
    ($py:expr, $type:ident: $of:expr => $($field:ident),+; $($left_out:ident),+) => {{
        let $type { $($field,)+ $($left_out: _,)+ } = $of;
        let dict = ::pyo3::types::PyDict::new($py);
        $(dict.set_item(stringify!($field), $field)?;)+
        dict
    }};
    ($py:expr, $of:expr => $($field:ident),+ $(,)?) => {{
        let (dict, of) = (::pyo3::types::PyDict::new($py), &$of);
        $(dict.set_item(stringify!($field), &of.$field)?;)+
        dict
    }};
}
pub(crate) use dict;
