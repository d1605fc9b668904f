//! Finds sources that read more than their own text, such as files or the clock. Their results cannot be cached.

/// Returns why the result of a compile must not be cached: something in the sources or options reads what the cache key
/// does not contain. `None` if nothing does.
///
/// Inspects lines, not tokens, and reports what it is unsure of: an unnecessary compile is only slow, but an outdated
/// kernel is wrong.
pub(crate) fn reads_more<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    options: &[String],
    known: impl Fn(&str) -> bool,
) -> Option<String> {
    // Options that name a file or folder: `-include x`, `-I..`, `-isystem x`, `-imacros x`, `@file`, plugins, profiles.
    // A word without a dash is a file itself, or the value of the option before it.
    const READ: [&str; 13] = [
        "-i",
        "-I",
        "-F",
        "-B",
        "-Wp,",
        "-fplugin",
        "-fprofile",
        "-fmodule",
        "-fsanitize-",
        "--include",
        "--sysroot",
        "--config",
        "--rocm",
    ];
    if let Some(option) =
        options.iter().find(|o| !o.starts_with('-') || READ.iter().any(|read| o.starts_with(read)))
    {
        return Some(format!("option {option} names files"));
    }
    texts.into_iter().find_map(|text| {
        // A backslash at the end of a line joins it to the next.
        let text = text.replace("\\\r\n", "").replace("\\\n", "");
        text.lines().find_map(|line| line_reads_more(line, &known))
    })
}

fn line_reads_more(line: &str, known: &impl Fn(&str) -> bool) -> Option<String> {
    let because = || Some(format!("`{}` reads what the cache does not see", line.trim()));
    if ["__DATE__", "__TIME__", "__TIMESTAMP__", "incbin"].iter().any(|word| line.contains(word)) {
        return because();
    }
    // `%:` is another spelling of `#`.
    let hash = line.find('#').or_else(|| line.find("%:"))?;
    let directive = &line[hash..];
    if !["include", "embed", "import"].iter().any(|word| directive.contains(word)) {
        return None;
    }
    match included(line.trim_start()) {
        // hiprtc contains HIP's own headers. They change only with its version, which is part of the key.
        Some(name) if known(name) || name.starts_with("hip/") => None,
        _ => because(),
    }
}

/// The name in a plain `#include "name"` or `#include <name>`.
fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    rest.get(1..)?.split_once(close).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_sources_and_given_headers_can_be_cached() {
        let known = |name: &str| name == "mine.h";
        for text in [
            "",
            "int x = 1; // includes nothing\n",
            "#define INCLUDED 1\n#if INCLUDED\n#endif\n",
            "#include \"mine.h\"\n",
            "  #  include <mine.h> // here\n",
            "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>",
        ] {
            assert_eq!(reads_more([text], &[], known), None, "{text}");
        }
        let options = ["-O3", "-DX=1", "-ffp-contract=off", "--std=c++17"].map(String::from);
        assert_eq!(reads_more(["int x;"], &options, known), None);
    }

    #[test]
    fn sources_that_read_files_or_the_clock_are_detected() {
        let known = |name: &str| name == "mine.h";
        for text in [
            "#include \"other.h\"",
            "#include <stdint.h>",
            "#include </etc/passwd>",
            "#include NAME",
            "#inc\\\nlude \"other.h\"",
            "#include_next <mine.h>",
            "/* */ #include \"other.h\"",
            "/* */ #include \"mine.h\"",
            "%:include \"other.h\"",
            "#import \"other.h\"",
            "#embed \"data.bin\"",
            "#if __has_include(\"other.h\")",
            "asm(\".incbin \\\"x\\\"\");",
            "const char* when = __TIME__;",
        ] {
            assert!(reads_more(["int x;\n", text], &[], known).is_some(), "{text}");
        }
        for option in ["-I.", "-I", "-include", "-isystem", "--include=x.h", "@options", "-imacros"] {
            assert!(
                reads_more(["int x;"], &["-O3".to_owned(), option.to_owned()], known).is_some(),
                "{option}"
            );
        }
    }
}
