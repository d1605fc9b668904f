//! hip/hiplaunch.h is what cbindgen generates from this package's sources. With `HIPLAUNCH_WRITE_HEADER` set, the test
//! writes the header.

use std::path::Path;

fn made(root: &Path) -> String {
    let folder = root.join("crates/hiplaunch-capi/src");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    // The include guard of head.h ends after tail.h; a guard of cbindgen would end before it.
    config.header = Some(read("head.h"));
    config.trailer = Some(format!(
        "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif  /* HIPLAUNCH_H */\n",
        read("tail.h").trim_end()
    ));
    // The files that a program needs first come first.
    let files = [
        "version",
        "status",
        "launcher",
        "peers",
        "text",
        "devices",
        "streams",
        "events",
        "buffers",
        "views",
        "memory",
        "compile",
        "modules",
        "kernels",
        "attributes",
        "parameters",
        "arguments",
        "launch",
        "tickets",
        "timeline",
        "pool",
        "graph",
        "graph_values",
        "compiled_graph",
        "capture",
        "lds",
        "layouts",
        "offsets",
        "logging",
    ];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in files {
        builder = builder.with_src(folder.join(file).with_extension("rs"));
    }
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn the_header_is_what_the_sources_say() {
    let root = hiplaunch_testing::root().to_owned();
    let (path, made) = (root.join("hip/hiplaunch.h"), made(&root));
    if std::env::var_os("HIPLAUNCH_WRITE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        kept == made,
        "the sources say another header; HIPLAUNCH_WRITE_HEADER=1 cargo test -p hiplaunch-capi --test header"
    );
}

/// Every exported function is declared in the header, has the prefix, and documents its threads and errors.
#[test]
fn every_function_is_declared_and_documents_threads_and_errors() {
    let header = made(hiplaunch_testing::root());
    let mut functions = 0;
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        for (at, _) in source.match_indices("#[unsafe(no_mangle)]") {
            let rest = source[at..].split_once("fn ").unwrap().1;
            let name = &rest[..rest.find(['(', '<']).unwrap()];
            functions += 1;
            assert!(name.starts_with("hiplaunch_"), "{name}");
            assert!(header.contains(&format!(" {name}(")) || header.contains(&format!("*{name}(")), "{name}");
            let doc: Vec<&str> =
                source[..at].lines().rev().take_while(|line| line.starts_with("///")).collect();
            let doc = doc.join("\n").to_lowercase();
            let can_fail = rest.split_once('{').unwrap().0.contains("-> hiplaunch_status")
                && name != "hiplaunch_last_error";
            assert!(
                !can_fail || source.contains(&format!("call(\"{name}\"")),
                "{name} says another name in its errors"
            );
            for word in ["threads", "errors"] {
                assert!(!can_fail || doc.contains(word), "{name} does not say: {word}");
            }
        }
    }
    assert!(functions > 60, "{functions} functions");
}
