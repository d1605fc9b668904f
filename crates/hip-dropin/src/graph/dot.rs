//! A graph in the language of Graphviz.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::payload::Payload;
use super::{Graph, GraphHandle};
use crate::abi::c_caller::Text;
use crate::abi::status::{HipResult, Status};
use crate::process::Process;

/// What a node is called.
fn label(payload: &Payload) -> String {
    match payload {
        Payload::Kernel(node, _) => node.name().to_string_lossy().replace('"', "'"),
        Payload::Copy(node) => {
            format!("MEMCPY {} bytes", node.copy.width * node.copy.height * node.copy.depth)
        }
        Payload::Fill(params) => {
            format!("MEMSET {} bytes", params.width * params.height * params.elementSize as usize)
        }
        Payload::Host(..) => "HOST".into(),
        Payload::Child(_) => "GRAPH".into(),
        Payload::Empty => "EMPTY".into(),
        Payload::EventWait(_) => "EVENT_WAIT".into(),
        Payload::EventRecord(_) => "EVENT_RECORD".into(),
        Payload::Allocate(_) => "MEM_ALLOC".into(),
        Payload::Free(_) => "MEM_FREE".into(),
        Payload::MemoryOperations(_) => "BATCH_MEM_OP".into(),
    }
}

/// Writes the nodes and edges of a graph; a child graph is a cluster of its own.
fn write(process: &Process, graph: &Graph, name: &str, text: &mut String) -> HipResult {
    // Writing to a string does not fail.
    let _ = writeln!(text, "subgraph cluster_{name} {{\nlabel=\"graph_{name}\"");
    for (index, node) in graph.in_order()?.iter().enumerate() {
        let payload = node.payload().clone();
        let _ = writeln!(
            text,
            "\"node_{:x}\"[shape=\"rectangle\" label=\"{}\"];",
            node.handle(),
            label(&payload)
        );
        if let Payload::Child(child) = payload {
            write(
                process,
                &*process.graphs().graph(GraphHandle::new(child))?,
                &format!("{name}_{index}"),
                text,
            )?;
        }
    }
    for (from, to) in graph.edges() {
        let _ = writeln!(text, "\"node_{from:x}\" -> \"node_{to:x}\";");
    }
    let _ = writeln!(text, "}}");
    Ok(())
}

/// The flags, which ask for more about each node, change nothing.
pub(crate) fn hipGraphDebugDotPrint(
    process: &Process,
    graph: GraphHandle,
    path: Text,
    _flags: u32,
) -> HipResult {
    let path = Path::new(OsStr::from_bytes(path.get()?.to_bytes()));
    let mut text = String::from("digraph dot {\n");
    write(process, &*process.graphs().graph(graph)?, "0", &mut text)?;
    text.push_str("}\n");
    std::fs::write(path, text).map_err(|_| Status::OPERATING_SYSTEM)
}
