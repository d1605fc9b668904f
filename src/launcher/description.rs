//! What is launched, and what is registered: descriptions that are built by value, each part on its own.

use lds_layout::LdsLayout;

use super::args::{Arg, LaunchDims, Staging};
use super::destination::{Destination, Placement};
use super::launch::ArgumentSource;
use crate::module::Module;

/// One launch of a kernel: its dimensions, its arguments, and how host data and the result travel.
///
/// Every part has a default and all of them combine. [`Launcher::submit`](crate::Launcher::submit) launches it and
/// returns a ticket; [`Launcher::enqueue`](crate::Launcher::enqueue) launches it without one.
///
/// | part | default |
/// |---|---|
/// | [`args`](Launch::args) or [`packed`](Launch::packed) | no arguments |
/// | [`staging`](Launch::staging) | [`Staging::Copy`] |
/// | [`destination`](Launch::destination) | none: the kernel writes where its arguments say |
///
/// ```
/// use hiplaunch::{Arg, DeviceBuffer, FatBinary, Launch, LaunchDims, Launcher, Staging, args};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # #[cfg(feature = "emulator")] {
/// # let launcher = Launcher::new()?;
/// # let device = launcher.device(0)?;
/// # let stream = launcher.stream(device)?;
/// # let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
/// // SAFETY: we trust the code, and pass it what its source asks for: x, y, out, n.
/// let vadd = unsafe { launcher.register(device, code.elf(), "vadd_f32")? };
/// let (x, y) = ([1.0f32; 100], DeviceBuffer::from_slice(&stream, &[2.0f32; 100])?);
/// let mut sum: Option<DeviceBuffer<f32>> = None;
/// let args = args![Arg::input(&x), &y, Arg::Destination, 100i32];
/// let launch = Launch::new(LaunchDims::cover(100, 64))
///     .args(&args)
///     .staging(Staging::Mapped)
///     .destination(&mut sum, &[10, 10]);
/// // SAFETY: as above.
/// unsafe { launcher.enqueue(vadd, &stream, launch)? };
/// # let sum = sum.ok_or("no result")?;
/// assert_eq!(sum.to_vec(&stream)?, [3.0; 100]);
/// # }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a description launches nothing; give it to `Launcher::submit` or `Launcher::enqueue`"]
pub struct Launch<'a> {
    pub(super) dims: LaunchDims,
    pub(super) source: ArgumentSource<'a>,
    pub(super) staging: Staging,
    pub(super) placement: Option<Placement<'a>>,
}

impl<'a> Launch<'a> {
    /// A launch without arguments.
    #[inline]
    pub const fn new(dims: LaunchDims) -> Launch<'a> {
        Launch { dims, source: ArgumentSource::Args(&[]), staging: Staging::Copy, placement: None }
    }

    /// The arguments, one for each of the kernel's explicit parameters. Replaces packed arguments.
    #[inline]
    pub const fn args(mut self, args: &'a [Arg<'a>]) -> Launch<'a> {
        self.source = ArgumentSource::Args(args);
        self
    }

    /// The arguments as bytes that the caller packed: the kernarg segment from its start to the end of the last explicit
    /// argument, at the metadata's offsets. Replaces [`args`](Launch::args).
    ///
    /// A C struct with the arguments as its fields will do: bytes behind the last explicit argument are ignored, up to
    /// the kernarg segment's size or the struct's padding, whichever ends later. Hidden arguments are never taken from
    /// them.
    #[inline]
    pub const fn packed(mut self, bytes: &'a [u8]) -> Launch<'a> {
        self.source = ArgumentSource::Packed(bytes);
        self
    }

    /// How host data among the arguments reach the kernel.
    #[inline]
    pub const fn staging(mut self, staging: Staging) -> Launch<'a> {
        self.staging = staging;
        self
    }

    /// Memory of the caller that the kernel writes its result to: `shape` elements of the destination's type, without
    /// gaps. The kernel gets its address where the arguments have [`Arg::Destination`], which they have exactly once;
    /// with [`packed`](Launch::packed) arguments, where [`destination_parameter`](Launch::destination_parameter) says.
    ///
    /// The destination's memory is used where it has room for `shape` on the stream's device, and then only its length
    /// and shape change: no allocation, and no device call but the launch's. Otherwise new memory is allocated first, and
    /// the old goes back in stream order once the launch is enqueued.
    ///
    /// | Destination | What happens |
    /// |---|---|
    /// | a buffer with room, on the stream's device | used as it is |
    /// | none, empty, too small, or on another device | allocated on the stream; what there was goes back |
    /// | a view | used as it is; refused unless contiguous, of exactly that shape, on the stream's device |
    /// | overlaps an input | refused, unless the kernel is [declared in place](Registration::in_place) and both begin at the same byte |
    ///
    /// Views of the destination's old memory keep it; views of memory that is used again see the new contents. Inputs are
    /// compared where the call sees them: buffers, views, bare addresses, and addresses in argument blocks or packed
    /// bytes.
    ///
    /// What the table refuses is [`LaunchProblem::Destination`](crate::LaunchProblem::Destination). After any error the
    /// destination's memory, length and shape are as they were.
    #[inline]
    pub fn destination<'d: 'a>(mut self, to: impl Into<Destination<'d>>, shape: &'a [usize]) -> Launch<'a> {
        let parameter = self.placement.take().and_then(|p| p.parameter);
        self.placement = Some(Placement { to: Some(to.into()), shape, parameter });
        self
    }

    /// Which parameter of the kernel, counted from 0, takes the destination's address. What packed arguments hold there
    /// is ignored. Not needed with [`args`](Launch::args), where [`Arg::Destination`] says so.
    #[inline]
    pub fn destination_parameter(mut self, index: usize) -> Launch<'a> {
        let placement = self.placement.take().unwrap_or(Placement { to: None, shape: &[], parameter: None });
        self.placement = Some(Placement { parameter: Some(index), ..placement });
        self
    }
}

/// A kernel to register: one of a loaded module's, and what its launches may rely on.
///
/// [`Launcher::register_kernel`](crate::Launcher::register_kernel) registers it, and
/// [`Launcher::replace_kernel`](crate::Launcher::replace_kernel) puts it under a handle that there is.
#[derive(Clone, Debug)]
#[must_use = "a description registers nothing; give it to `Launcher::register_kernel`"]
pub struct Registration<'a> {
    pub(super) module: &'a Module,
    pub(super) name: &'a str,
    pub(super) lds_bytes: Option<u32>,
    pub(super) in_place: bool,
}

impl<'a> Registration<'a> {
    /// The kernel `name` of a module, without a layout of its dynamic LDS and not in place.
    pub fn new(module: &'a Module, name: &'a str) -> Registration<'a> {
        Registration { module, name, lds_bytes: None, in_place: false }
    }

    /// The layout of dynamic LDS that the kernel's code was generated for; what
    /// [`Launcher::set_lds_layout`](crate::Launcher::set_lds_layout) says of it holds.
    pub fn lds_layout(mut self, layout: &LdsLayout) -> Registration<'a> {
        self.lds_bytes = Some(layout.total());
        self
    }

    /// Allows the destination of a launch to be one of its inputs too.
    ///
    /// # Safety
    /// Every work-item has read what it reads of an input before any work-item writes there, as in elementwise kernels.
    pub unsafe fn in_place(mut self) -> Registration<'a> {
        self.in_place = true;
        self
    }
}
