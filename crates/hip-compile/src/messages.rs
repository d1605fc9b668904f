//! The messages of compilers, with the names of inputs in place of those of temporary files, so that they are easy to read and
//! the same every time.

/// Removes comgr's temporary folders (`/tmp/comgr-d2973e/input/CompileSource:2:9`), and gives files in them their names: each is
/// a file and its name.
pub(crate) fn without_folders(log: &str, files: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(log.len());
    let mut rest = log;
    while let Some(at) = rest.find("comgr-") {
        let (before, found) = rest.split_at(at);
        // The rest of the folder's name is a few letters and digits, in HIP 7 with dashes.
        let folder =
            found["comgr-".len()..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        let inside = folder.strip_prefix("/input/").or_else(|| folder.strip_prefix("/include/"));
        match inside {
            Some(inside) => {
                let start = before.rfind([' ', '\n', '\'', '"', '`']).map_or(0, |at| at + 1);
                text.push_str(before.get(..start).unwrap_or(before));
                let named = files.iter().find_map(|(file, name)| Some((name, inside.strip_prefix(file)?)));
                rest = named.map_or(inside, |(name, after)| {
                    text.push_str(name);
                    after
                });
            }
            None => {
                let (word, after) = rest.split_at(at + "comgr-".len());
                text.push_str(word);
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns the messages of a compiler that was given files of these names: each is a file and its input's name.
pub(crate) fn with_names(log: &str, files: &[(String, &str)]) -> String {
    // What LLVM adds when it ends by an error is for its own authors.
    let log = log.split("PLEASE submit a bug report").next().unwrap_or_default();
    let log = without_folders(log, &[]);
    files.iter().fold(log, |log, (file, name)| log.replace(file.as_str(), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_name_the_inputs() {
        let files = [("hiplaunch-0.ll".to_owned(), "a b.ll"), ("hiplaunch-1.o".to_owned(), "c.o")];
        for (log, named) in [
            ("hiplaunch-0.ll:2:9: error: x\n", "a b.ll:2:9: error: x\n"),
            ("/tmp/comgr-1-2-a/input/hiplaunch-0.ll:2:9: error\n", "a b.ll:2:9: error\n"),
            (">>> referenced by hiplaunch-1.o:(k)\n", ">>> referenced by c.o:(k)\n"),
            ("fatal error: x\nPLEASE submit a bug report to\n0. Program", "fatal error: x\n"),
        ] {
            assert_eq!(with_names(log, &files), named);
        }
    }

    #[test]
    fn logs_name_the_source() {
        for (log, tidied) in [
            ("", ""),
            ("no path here: comgr-x\n", "no path here: comgr-x\n"),
            ("/tmp/comgr-117698/input/CompileSource:2:9: error: x\n", "k.hip:2:9: error: x\n"),
            (
                "In file included from /tmp/comgr-0a/input/CompileSource:1:\n/tmp/comgr-0a/include/my/foo.h:3:1: note\n",
                "In file included from k.hip:1:\nmy/foo.h:3:1: note\n",
            ),
            ("'/var/tmp/comgr-9/input/other.hip' comgr-", "'other.hip' comgr-"),
            ("/tmp/comgr-17-1-c457/input/CompileSource:2:9: error: x\n", "k.hip:2:9: error: x\n"),
        ] {
            assert_eq!(without_folders(log, &[("CompileSource", "k.hip")]), tidied);
        }
    }
}
