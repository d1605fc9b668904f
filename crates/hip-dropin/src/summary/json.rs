//! The summary as a JSON document, whose fields docs/json.md lists.

use code_object::SourceLocation;
use hip_driver_emulated::{Defect, FaultReport, LaneAddress, Notice};
use serde_json::{Map, Value, json};

use crate::report::record::Fault;
use crate::summary::Summary;

/// The document.
pub(crate) fn document(summary: &Summary) -> Value {
    let record = &summary.record;
    let counts = |calls: &Vec<(&str, u64)>| -> Map<String, Value> {
        calls.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect()
    };
    let emulated = summary.emulated.as_ref();
    let calls = emulated.and_then(|emulated| emulated.calls.as_ref());
    let kernels = calls.is_some().then(|| {
        let items = record.kernels.iter().map(|((device, name), totals)| {
            json!({
                "device": device.0,
                "name": name,
                "launches": totals.launches,
                "workgroups": totals.counts.workgroups,
                "waves": totals.counts.waves,
                "wave_instructions": totals.counts.wave_instructions,
            })
        });
        items.collect::<Vec<Value>>()
    });
    json!({
        "process": std::process::id(),
        "backend": if emulated.is_some() { "emulator" } else { "hip" },
        "target": emulated.map(|emulated| emulated.target.as_str()),
        "devices": emulated.map(|emulated| emulated.devices),
        "hip_calls": summary.functions.as_ref().map(counts),
        "driver_calls": calls.map(counts),
        "kernels": kernels,
        "compiled": summary.compiled.0,
        "compiled_from_cache": summary.compiled.1,
        "violations": summary.validation.as_ref().map(|found| &found.violations),
        "leaks": summary.validation.as_ref().map(|found| &found.leaks),
        "unsupported": record.unsupported,
        "notices": record.notices.iter().map(notice).collect::<Vec<Value>>(),
        "faults": record.faults.iter().map(fault).collect::<Vec<Value>>(),
    })
}

/// Returns an element of `notices`, which `hiplaunch run` writes, too.
pub fn notice(notice: &Notice) -> Value {
    json!({
        "kind": notice.kind.name(),
        "kernel": notice.kernel,
        "text": notice.to_string(),
        "count": notice.count,
        "instruction": notice.site.instruction,
        "pc": notice.site.pc,
        "function": notice.site.function.as_ref().map(|(name, _)| name),
        "source": notice.site.source.iter().map(ToString::to_string).collect::<Vec<String>>(),
        "address": notice.address,
        "allocation": notice.base,
        "allocation_bytes": notice.len,
        "past_end": notice.past,
    })
}

fn fault(fault: &Fault) -> Value {
    let details = fault.details.as_ref();
    let mut fields = json!({
        "code": fault.code.0,
        "error": fault.code.name(),
        "text": fault.text,
        "returned_by": fault.call,
        "device": details.map(|details| details.device.0),
        "work": details.map(|details| details.work.as_str()),
        "kernel": details.and_then(|details| details.kernel.as_deref()),
    });
    let at = details.and_then(|details| {
        let report = details.report.as_deref().map(of_report);
        report.or_else(|| details.defects.first().map(of_defect))
    });
    if let Value::Object(fields) = &mut fields {
        fields.extend(at.unwrap_or_default().fields());
    }
    fields
}

/// The instruction of a fault, and what it accessed.
#[derive(Default)]
struct Site<'a> {
    cause: Option<String>,
    instruction: Option<&'a str>,
    pc: Option<u64>,
    function: Option<&'a (String, u64)>,
    source: &'a [SourceLocation],
    workgroup: Option<[u32; 3]>,
    wave: Option<u32>,
    lanes: &'a [LaneAddress],
    nearest: Option<&'a str>,
}

fn of_report(report: &FaultReport) -> Site<'_> {
    Site {
        cause: Some(report.cause.to_string()),
        instruction: Some(&report.instruction),
        pc: Some(report.pc),
        function: report.function.as_ref(),
        source: &report.source,
        workgroup: Some(report.workgroup),
        wave: Some(report.wave),
        lanes: report.cause.lanes(),
        nearest: report.nearest.as_deref(),
    }
}

fn of_defect(defect: &Defect) -> Site<'_> {
    let site = &defect.site;
    Site {
        cause: Some(defect.to_string()),
        instruction: Some(&site.instruction),
        pc: Some(site.pc),
        function: site.function.as_ref(),
        source: &site.source,
        workgroup: Some(site.workgroup),
        wave: Some(site.wave),
        lanes: &defect.lanes,
        nearest: defect.allocation.as_deref(),
    }
}

impl Site<'_> {
    fn fields(&self) -> Map<String, Value> {
        let first = self.lanes.first();
        let fields = json!({
            "cause": self.cause,
            "instruction": self.instruction,
            "pc": self.pc,
            "function": self.function.map(|(name, _)| name),
            "function_offset": self.function.map(|(_, offset)| offset),
            "source": self.source.iter().map(ToString::to_string).collect::<Vec<String>>(),
            "workgroup": self.workgroup,
            "wave": self.wave,
            "lane": first.and_then(|first| first.lane),
            "address": first.map(|first| first.address),
            "nearest_allocation": self.nearest,
        });
        if let Value::Object(fields) = fields { fields } else { Map::new() }
    }
}
