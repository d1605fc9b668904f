//! Demangles the names of kernels that were compiled from C++ or Rust.

/// Returns the name in the source of C++ (Itanium's rules) or Rust; `None` if the name is not mangled.
pub(crate) fn demangled(name: &str) -> Option<String> {
    if name.starts_with("_R") || is_old_rust(name) {
        return rustc_demangle::try_demangle(name).ok().map(|name| format!("{name:#}"));
    }
    if !name.starts_with("_Z") {
        return None;
    }
    cpp_demangle::Symbol::new(name).ok()?.demangle().ok()
}

/// Whether a name is of Rust's legacy mangling: C++'s, with a hash as the last part.
fn is_old_rust(name: &str) -> bool {
    let hash = name.strip_prefix("_ZN").and_then(|rest| rest.strip_suffix('E')).and_then(|rest| {
        let at = rest.len().checked_sub(19)?;
        rest.get(at..)?.strip_prefix("17h")
    });
    hash.is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns a name, followed by its name in the source in parentheses if that differs.
pub(crate) fn shown(name: &str) -> String {
    match demangled(name) {
        Some(source) => format!("{name} ({source})"),
        None => name.to_owned(),
    }
}

/// Returns a text in which each mangled name is followed by its name in the source, as by [`shown`].
pub(crate) fn explained(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '.';
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (between, word) = rest.split_at(start);
        let (word, behind) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        all.push_str(between);
        // A full stop at the end of a sentence is not part of the name.
        let name = word.trim_end_matches('.');
        let (quote, behind) = match (demangled(name), behind.strip_prefix('`')) {
            (None, _) => {
                all.push_str(word);
                rest = behind;
                continue;
            }
            (Some(_), Some(behind)) => ("`", behind),
            (Some(_), None) => ("", behind),
        };
        let source = demangled(name).unwrap_or_default();
        all.push_str(&format!("{name}{quote} ({source}){}", &word[name.len()..]));
        rest = behind;
    }
    all.push_str(rest);
    all
}

/// Whether `wanted` names the kernel `name`: by this name, by the name in the source, or by the latter without its
/// parameters.
pub(crate) fn means(wanted: &str, name: &str) -> bool {
    wanted == name
        || demangled(name).is_some_and(|source| {
            let plain = source.split_once('(').map_or(&*source, |(plain, _)| plain);
            // The name of a template has its result type before it.
            wanted == source
                || wanted == plain
                || plain.rsplit_once(' ').is_some_and(|(_, own)| wanted == own)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_and_rust() {
        let says = |name: &str| demangled(name).unwrap_or_else(|| "none".to_owned());
        assert_eq!(says("_Z5saxpyfPKfPfi"), "saxpy(float, float const*, float*, int)");
        assert_eq!(says("_ZN4math5scaleIfEEvPT_i"), "void math::scale<float>(float*, int)");
        assert_eq!(says("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(says("_RNvC7mycrate3foo"), "mycrate::foo");
        for plain in ["saxpy", "_Zebra", "_Z", "_ZN", "_R", "", "__hip_cuid_1", "_ZN4math"] {
            assert_eq!(demangled(plain), None, "{plain}");
        }
    }

    #[test]
    fn messages_say_both_names() {
        let said = explained("kernel `_Z5scalePfi`: argument 1; see _Z5scalePfi. Not scale, é or `_Zebra`.");
        let named = "_Z5scalePfi";
        assert_eq!(
            said,
            format!(
                "kernel `{named}` (scale(float*, int)): argument 1; see {named} (scale(float*, int)). Not scale, é or `_Zebra`."
            )
        );
        assert_eq!((explained(""), explained("...")), (String::new(), "...".to_owned()));
    }

    #[test]
    fn a_kernel_is_meant_by_either_name() {
        let name = "_ZN4math5scaleIfEEvPT_i";
        for wanted in [name, "void math::scale<float>(float*, int)", "math::scale<float>"] {
            assert!(means(wanted, name), "{wanted}");
        }
        assert!(!means("scale", name) && !means("", name) && means("saxpy", "saxpy"));
        assert!(means("saxpy", "_Z5saxpyfPKfPfi") && !means("sax", "_Z5saxpyfPKfPfi"));
    }
}
