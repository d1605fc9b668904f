//! Rejects code objects that have image instructions which are not executed.

use amdgpu_isa::{Encoding, Target, fields};
use code_object::CodeObject;

use crate::exec::table::{Impl, executor};
use crate::report::error::{Error, Result};

/// The upper six bits of an image instruction's first dword (MIMG).
const MIMG: u32 = 0x3c;

/// Returns whether the first two dwords of an image instruction are one that is not executed.
fn is_refused(target: Target, words: &[u32]) -> bool {
    let [first, second, ..] = *words else { return true };
    let f = fields::Mimg::of(target, u64::from(first) | u64::from(second) << 32);
    let row = Encoding::Mimg.row(target, f.op);
    row.is_none_or(|row| matches!(executor(row.mnemonic, target), Impl::Unimplemented))
}

/// Fails if a function of the code object has an image instruction that is not executed. Data between functions is not checked.
///
/// # Errors
/// [`Error::ImageInstruction`] for the first such instruction.
pub(crate) fn refuse(object: &CodeObject, target: Target) -> Result<()> {
    let mut starts: Vec<u64> = object.symbols().iter().map(|function| function.address).collect();
    starts.extend(object.kernels().iter().map(|kernel| kernel.descriptor.entry));
    starts.sort_unstable();
    starts.dedup();
    for segment in object.segments().filter(|segment| segment.executable) {
        let (words, _) = segment.data.as_chunks::<4>();
        let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
        // An instruction has at most three dwords.
        let following = |at: usize| -> Vec<u32> { (at..at + 3).map_while(word).collect() };
        let inside = |address: &u64| Some((usize::try_from(address.checked_sub(segment.vaddr)?).ok()?) / 4);
        let starts: Vec<usize> = starts.iter().filter_map(inside).filter(|at| *at < words.len()).collect();
        let ends = starts.iter().skip(1).copied().chain([words.len()]);
        for (start, end) in starts.iter().copied().zip(ends) {
            // Nearly all functions have no such bits and need not be decoded.
            if !words[start..end].iter().any(|word| u32::from_le_bytes(*word) >> 26 == MIMG) {
                continue;
            }
            let mut at = start;
            while let Some(first) = word(at).filter(|_| at < end) {
                let length = amdgpu_isa::encoded_length(target, &following(at));
                if length.is_some() && first >> 26 == MIMG && is_refused(target, &following(at)) {
                    let address = segment.vaddr + 4 * at as u64;
                    return Err(Error::ImageInstruction {
                        target: object.target().to_string(),
                        function: object.function_at(address).map_or_else(String::new, |f| f.name.clone()),
                        address,
                        instruction: amdgpu_isa::disassemble_lenient(target, &following(at), address).text,
                    });
                }
                at += length.unwrap_or(1);
            }
        }
    }
    Ok(())
}
