//! What the kernels of the emulator's own dispatches ask the host for: `printf`, and memory for the device's `malloc`.
//!
//! `s_sendmsg` serves all calls that are ready before the wave continues.

use std::sync::Arc;

use code_object::CodeObject;
use kernel_services::{DeviceMemory, Hostcall, Printer, PrintfBuffer, PrintfFormats, SharedMemory};

use crate::exec::inst::Host;
use crate::memory::{AddressSpace, DispatchMemory};

/// The calls of one dispatch, whose buffer is in the dispatch's own memory.
type Calls = Hostcall<DispatchMemory, AddressSpace>;

/// Prints what a kernel has left in its printf buffer. Must be called when the kernel has ended.
pub(crate) type Print = Box<dyn Fn() + Send + Sync>;

/// The size of a printf buffer in bytes.
pub(crate) const PRINTF_BYTES: u64 = PrintfBuffer::<DispatchMemory>::SIZE;

/// The most waves that may call the host at the same time, of some in a dispatch.
fn at_once(waves: u64) -> u64 {
    waves.min(1024)
}

/// Returns the size of the buffer for the calls of a dispatch of some waves.
pub(crate) fn hostcall_bytes(waves: u64) -> u64 {
    Calls::size(at_once(waves))
}

/// Serves the calls of a dispatch of some waves. The buffer is at `base` in `block`.
pub(crate) fn hostcalls(
    block: &Arc<DispatchMemory>,
    base: u64,
    waves: u64,
    space: &Arc<AddressSpace>,
    printer: Printer,
) -> Arc<dyn Host> {
    Arc::new(Calls::new(Arc::clone(block), base, at_once(waves), None, Arc::clone(space), printer))
}

/// Makes the printf buffer of a dispatch at `base` in `block`.
pub(crate) fn printing(
    block: &Arc<DispatchMemory>,
    base: u64,
    object: &CodeObject,
    printer: Printer,
) -> Print {
    let buffer = PrintfBuffer::new(Arc::clone(block), base);
    let formats = PrintfFormats::read(object.printf_formats());
    Box::new(move || buffer.print(&formats, &printer))
}

impl Host for Calls {
    fn serve(&self) {
        Hostcall::serve(self);
    }
}

impl SharedMemory for DispatchMemory {
    fn read(&self, address: u64, out: &mut [u8]) {
        self.range().read_bytes(address, out);
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        self.range().write_bytes(address, bytes);
    }

    fn swap(&self, address: u64, value: u64) -> Option<u64> {
        self.range().atomic_u64(address).map(|word| word.swap(value))
    }

    fn clear(&self, address: u64, bits: u32) {
        if let Some(word) = self.range().atomic_u32(address) {
            word.update(|word| word & !bits);
        }
    }
}

impl DeviceMemory for AddressSpace {
    fn allocate(&self, bytes: u64, align: u64) -> Option<u64> {
        let address = self.alloc(bytes, align).ok()?;
        // It is zeroed, and `malloc` may rely on that.
        self.count_as_written(address, bytes);
        Some(address)
    }

    fn free(&self, address: u64) {
        // The kernel can't be told of an error.
        let _ = AddressSpace::free(self, address);
    }
}
