//! `--profile`: prints the profile of each kernel, as lines and as JSON.

use hip_driver_emulated::{BytesAccessed, InstructionClass, KernelProfile};
use serde_json::{Map, Value, json};

use super::CommandError;
use super::demangle::{demangled, shown};
use super::occupancy;
use super::output::{Output, Style, counted, grouped, wrapped};

fn traffic(name: &str, traffic: &BytesAccessed) -> Option<String> {
    let parts: Vec<String> =
        [("read", traffic.read), ("written", traffic.written), ("atomic", traffic.atomic)]
            .iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(what, bytes)| format!("{} {what}", grouped(*bytes)))
            .collect();
    (!parts.is_empty()).then(|| format!("{name} {}", parts.join(", ")))
}

/// Prints some lines for each kernel.
pub(super) fn show(profiles: &[KernelProfile], out: &mut Output) -> Result<(), CommandError> {
    for KernelProfile { kernel, profile: p, .. } in profiles {
        let head = format!(
            "      {}: {}, {}, {}, {} instructions, {:.1} of {} lanes active",
            shown(kernel),
            counted(p.dispatches as usize, "launch", "launches"),
            counted(p.workgroups as usize, "workgroup", "workgroups"),
            counted(p.waves as usize, "wave", "waves"),
            grouped(p.total()),
            p.average_active_lanes(),
            p.wave_lanes
        );
        out.line(out.styled(Style::Strong, &head))?;
        let classes = InstructionClass::ALL.into_iter().filter(|class| p.count(*class) > 0);
        let classes = classes.map(|class| format!("{} {}", class.name(), grouped(p.count(class))));
        wrapped("        ", classes, "  ").iter().try_for_each(|line| out.line(line))?;
        let memories =
            [("global", &p.global), ("scalar", &p.scalar), ("lds", &p.lds), ("scratch", &p.scratch)];
        let bytes: Vec<String> = memories.iter().filter_map(|(name, t)| traffic(name, t)).collect();
        if !bytes.is_empty() {
            wrapped("        bytes: ", bytes, "  ").iter().try_for_each(|line| out.line(line))?;
        }
        let mut line = format!(
            "        divergent branches: {} of {} on VCC or EXEC",
            grouped(p.divergent_branches),
            grouped(p.vector_branches)
        );
        if p.lds_cycles > 0 {
            line.push_str(&format!(
                "; LDS bank conflicts: {} cycles besides {}",
                grouped(p.lds_bank_conflicts),
                grouped(p.lds_cycles)
            ));
        }
        out.line(line)?;
        if let Some(o) = &p.occupancy {
            out.line(format_args!("        occupancy on {}", occupancy::text(o)))?;
        }
    }
    Ok(())
}

/// Returns a list with an object for each kernel.
pub(super) fn to_json(profiles: &[KernelProfile]) -> Value {
    let bytes = |t: &BytesAccessed| json!({ "read": t.read, "written": t.written, "atomic": t.atomic });
    let list = profiles.iter().map(|KernelProfile { kernel, profile: p, .. }| {
        let classes: Map<String, Value> = InstructionClass::ALL
            .into_iter()
            .map(|class| (class.name().to_owned(), json!(p.count(class))))
            .collect();
        let occupancy = p.occupancy.as_ref().map(occupancy::to_json);
        json!({
            "kernel": kernel,
            "demangled": demangled(kernel),
            "launches": p.dispatches,
            "workgroups": p.workgroups,
            "waves": p.waves,
            "wave_lanes": p.wave_lanes,
            "instructions": classes,
            "average_active_lanes": p.average_active_lanes(),
            "global_bytes": bytes(&p.global),
            "scalar_bytes": bytes(&p.scalar),
            "lds_bytes": bytes(&p.lds),
            "scratch_bytes": bytes(&p.scratch),
            "lds_cycles": p.lds_cycles,
            "lds_bank_conflicts": p.lds_bank_conflicts,
            "vector_branches": p.vector_branches,
            "divergent_branches": p.divergent_branches,
            "occupancy": occupancy,
        })
    });
    Value::Array(list.collect())
}
