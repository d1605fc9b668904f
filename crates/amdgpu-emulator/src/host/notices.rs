//! The list of what a dispatch noted.

use super::program::Inner;
use crate::exec::inst::Code;
use crate::exec::notices::NoticeMap;
use crate::report::defect::Site;
use crate::report::notice::Notice;

/// Returns the notices of a dispatch, with what the code object says of their instructions.
pub(crate) fn list(program: &Inner, code: &Code, kernel: &str, noted: NoticeMap) -> Vec<Notice> {
    let mut list = Vec::new();
    for ((kind, at), noted) in noted {
        let pc = program.vaddr(code.base + 4 * u64::from(at));
        let function = program.object().function_at(pc);
        let inst = code.map.get(at as usize).and_then(|index| code.insts.get(*index as usize));
        let site = Site {
            access: noted.access,
            workgroup: noted.workgroup,
            wave: noted.wave,
            lane: noted.lane,
            pc,
            function: function.map(|function| (function.name.clone(), pc - function.address)),
            source: program.object().source_at(pc),
            instruction: inst
                .map(|i| amdgpu_isa::disassemble_lenient(code.isa(), &i.raw, pc).text)
                .unwrap_or_default(),
        };
        list.push(Notice {
            kind,
            kernel: kernel.into(),
            space: noted.space,
            size: noted.size,
            site,
            address: noted.address,
            base: noted.base,
            len: noted.len,
            past: noted.past,
            count: noted.count,
        });
    }
    list
}
