//! The kernels that copy and fill on a device, and write values: those of `hip/blit.hip`.

use code_object::KernelSignature;

use crate::device::Device;
use crate::module::{Extra, Function, Module};
use crate::packet::Dispatch;
use crate::stream::Enqueue;
use hip_driver::{DevicePtr, DriverResult, ValueWidth};

/// The code objects of all targets.
static CODE: &[u8] = include_bytes!("../hip/blit.hipfb");

/// The kernels that every target has.
const KERNELS: [&str; 5] = ["copy_aligned", "copy_bytes", "fill_words", "fill_bytes", "write_value"];

/// The work-items of a workgroup of these kernels.
const BLOCK: u32 = 256;
/// The workgroups that a compute unit gets at most: enough to keep its memory accesses coming.
const BLOCKS_OF_UNIT: u64 = 8;

/// The kernels.
#[derive(Debug)]
pub(crate) struct Blit {
    _module: &'static Module,
    copy_aligned: &'static Function,
    copy_bytes: &'static Function,
    fill_words: &'static Function,
    fill_bytes: &'static Function,
    write_value: &'static Function,
    gws_init: Option<&'static Function>,
}

/// A launch of one of the kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlitLaunch {
    function: &'static Function,
    grid: u32,
    block: u32,
    arguments: [u64; 4],
}

impl Blit {
    /// Loads the kernels. They stay loaded.
    pub(crate) fn load(call: &'static str, device: &'static Device) -> DriverResult<Blit> {
        let module = Box::new(Module::load(call, device, CODE)?);
        // All of them, or the module is unloaded.
        KERNELS.iter().try_for_each(|name| module.find(call, name).map(drop))?;
        let module: &'static Module = Box::leak(module);
        Ok(Blit {
            _module: module,
            copy_aligned: module.find(call, "copy_aligned")?,
            copy_bytes: module.find(call, "copy_bytes")?,
            fill_words: module.find(call, "fill_words")?,
            fill_bytes: module.find(call, "fill_bytes")?,
            write_value: module.find(call, "write_value")?,
            gws_init: module.find(call, "gws_init").ok(),
        })
    }

    /// A launch on `count` elements. Its arguments end with the number of its work-items, before `last`.
    fn over(
        function: &'static Function,
        count: u64,
        [first, second, third]: [u64; 3],
        last: Option<u64>,
    ) -> BlitLaunch {
        let most = u64::from(function.device.properties.compute_units) * BLOCKS_OF_UNIT;
        let grid = count.div_ceil(BLOCK.into()).clamp(1, most) as u32;
        let stride = u64::from(grid * BLOCK);
        let arguments = match last {
            Some(last) => [first, second, stride, last],
            None => [first, second, third, stride],
        };
        BlitLaunch { function, grid, block: BLOCK, arguments }
    }

    /// Copies between two addresses of the device.
    pub(crate) fn copy(&self, dst: u64, src: u64, bytes: u64) -> BlitLaunch {
        if (dst | src).is_multiple_of(16) {
            Blit::over(self.copy_aligned, bytes.div_ceil(16).max(bytes.min(15)), [dst, src, bytes], None)
        } else {
            Blit::over(self.copy_bytes, bytes, [dst, src, bytes], None)
        }
    }

    /// Fills memory with repetitions of a byte.
    pub(crate) fn fill_bytes(&self, dst: DevicePtr, value: u8, bytes: u64) -> BlitLaunch {
        if (dst.0 | bytes).is_multiple_of(4) {
            return self.fill_words(dst, u32::from_le_bytes([value; 4]), bytes / 4);
        }
        Blit::over(self.fill_bytes, bytes, [dst.0, bytes, 0], Some(value.into()))
    }

    /// Fills memory with repetitions of a word.
    pub(crate) fn fill_words(&self, dst: DevicePtr, value: u32, count: u64) -> BlitLaunch {
        Blit::over(self.fill_words, count, [dst.0, count, 0], Some(value.into()))
    }

    /// Writes a value as one access.
    pub(crate) fn write_value(&self, dst: DevicePtr, width: ValueWidth, value: u64) -> BlitLaunch {
        let arguments = [dst.0, value, width.bytes() as u64, 0];
        BlitLaunch { function: self.write_value, grid: 1, block: 1, arguments }
    }

    /// Prepares global wave sync for `workgroups` that wait for each other; `None` where the hardware has none.
    pub(crate) fn gws_init(&self, workgroups: u32) -> Option<BlitLaunch> {
        let arguments = [u64::from(workgroups.saturating_sub(1)), 0, 0, 0];
        self.gws_init.map(|function| BlitLaunch { function, grid: 1, block: 1, arguments })
    }
}

impl BlitLaunch {
    /// The packet, and the bytes of its kernarg segment.
    pub(crate) fn dispatch(&self) -> (Dispatch, usize) {
        let launch = self.function.launch_of(self.grid, self.block, &[]);
        (self.function.dispatch(&launch, &Extra::default()), self.function.kernarg_bytes())
    }

    /// Writes its kernarg segment.
    pub(crate) fn fill(&self, segment: &mut [u8]) {
        // Each argument has 8 bytes, but for the last, which may have 4.
        let bytes = self.arguments.map(u64::to_le_bytes);
        let all = bytes.as_flattened();
        let explicit = &all[..(self.signature().explicit_size() as usize).min(all.len())];
        let launch = self.function.launch_of(self.grid, self.block, explicit);
        self.function.fill(segment, explicit, &launch, &Extra::default(), self.function.device);
    }

    fn signature(&self) -> &KernelSignature {
        &self.function.signature
    }

    /// Enqueues it.
    pub(crate) fn enqueue(&self, enqueue: &mut Enqueue<'_>) -> DriverResult<()> {
        let (dispatch, bytes) = self.dispatch();
        enqueue.launch(&dispatch, bytes, |segment| self.fill(segment))
    }
}
