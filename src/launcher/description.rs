//! The descriptions of a launch ([`Launch`]) and of a kernel to register ([`Registration`]).

use crate::code::{LaunchDims, LazyModule, Module};
use lds_layout::LdsLayout;

use super::args::{Arg, BufferArg, Staging};
use super::destination::{Destination, Placement};
use super::launch::{Arguments, DestinationArg};

/// One launch of a kernel: its dimensions, its arguments, how host data reaches the kernel, and its destination.
///
/// Every part but the dimensions has a default, and all parts can be combined.
/// [`Launcher::submit`](crate::Launcher::submit) launches it and returns a ticket;
/// [`Launcher::enqueue`](crate::Launcher::enqueue) launches it without one.
///
/// | part | default |
/// |---|---|
/// | [`args`](Launch::args) or [`packed`](Launch::packed) | no arguments |
/// | [`staging`](Launch::staging) | [`Staging::Copy`] |
/// | [`cooperative`](Launch::cooperative) | workgroups run in any order and do not wait for each other |
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
/// // SAFETY: the arguments are what its source asks for.
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
    pub(super) arguments: Arguments<'a>,
    pub(super) staging: Staging,
    pub(super) cooperative: bool,
    /// Whether memory ran out, and the launch is tried once more.
    pub(super) is_retry: bool,
    /// The destination as the caller gave it.
    pub(super) placement: Option<Placement<'a>>,
    /// The destination once there is memory for the result. It replaces the placement.
    pub(super) destination: Option<&'a DestinationArg<'a>>,
}

impl<'a> Launch<'a> {
    /// Creates a launch without arguments.
    #[inline]
    pub const fn new(dims: LaunchDims) -> Launch<'a> {
        Launch {
            dims,
            arguments: Arguments::Args(&[]),
            staging: Staging::Copy,
            cooperative: false,
            is_retry: false,
            placement: None,
            destination: None,
        }
    }

    /// Sets the arguments, one for each of the kernel's explicit parameters. Replaces [`packed`](Launch::packed)
    /// arguments.
    #[inline]
    pub const fn args(mut self, args: &'a [Arg<'a>]) -> Launch<'a> {
        self.arguments = Arguments::Args(args);
        self
    }

    /// Sets the arguments as bytes that the caller laid out: the kernarg segment from its start to the end of the last
    /// explicit argument, with each argument at its offset in the metadata. Replaces [`args`](Launch::args).
    ///
    /// The bytes of a C struct with the arguments as its fields can be used. Bytes after the last explicit argument are
    /// ignored, up to the kernarg segment's size or the struct's padding, whichever ends later. Hidden arguments are
    /// never read from them.
    ///
    /// Addresses among the bytes are the caller's: the memory stays valid until the kernel has run, and its use is recorded
    /// ([`Stream::record_use`](crate::Stream::record_use)). [`packed_with`](Launch::packed_with) does that for buffers.
    #[inline]
    pub const fn packed(self, bytes: &'a [u8]) -> Launch<'a> {
        self.packed_with(bytes, &[])
    }

    /// Sets the arguments as [`packed`](Launch::packed) does, and names the buffers whose addresses are among the bytes.
    ///
    /// For these the launch does what it does for buffers among [`args`](Launch::args): it records that its stream uses them,
    /// so that they may be dropped right after it, keeps them in the graph of a captured stream, and tells the validation
    /// layer what the kernel may access. It does not look for their addresses in the bytes.
    #[inline]
    pub const fn packed_with(mut self, bytes: &'a [u8], buffers: &'a [BufferArg<'a>]) -> Launch<'a> {
        self.arguments = Arguments::Packed(bytes, buffers);
        self
    }

    /// Sets how host data among the arguments reaches the kernel.
    #[inline]
    pub const fn staging(mut self, staging: Staging) -> Launch<'a> {
        self.staging = staging;
        self
    }

    /// Launches all workgroups at the same time, so that the kernel can wait for the whole grid
    /// (`cooperative_groups::this_grid().sync()`).
    ///
    /// Before anything is enqueued, the grid is compared with the most workgroups that the device runs at once, by the
    /// kernel's occupancy: more are [`LaunchProblem::CooperativeGrid`](crate::LaunchProblem::CooperativeGrid). A driver
    /// without [`Capability::CooperativeLaunch`](crate::driver::Capability::CooperativeLaunch), as HIP before 5.5, refuses
    /// with `NOT_SUPPORTED`.
    #[inline]
    pub const fn cooperative(mut self) -> Launch<'a> {
        self.cooperative = true;
        self
    }

    /// Sets the destination: device memory of the caller into which the kernel writes its result, a contiguous array of
    /// `shape` elements of the destination's type.
    ///
    /// The kernel gets the address as the argument [`Arg::Destination`], which the arguments have exactly once. With
    /// [`packed`](Launch::packed) arguments, [`destination_parameter`](Launch::destination_parameter) names the
    /// parameter.
    ///
    /// If the destination is large enough for `shape` and on the stream's device, its memory is used and its length and
    /// shape are set. Nothing is allocated, and the launch makes no further device call. Otherwise new memory is
    /// allocated first, and the old memory is freed in stream order once the launch is enqueued.
    ///
    /// | Destination | What happens |
    /// |---|---|
    /// | a buffer that is large enough, on the stream's device | its memory is used |
    /// | none, empty, too small, or on another device | new memory is allocated on the stream, and the old is freed |
    /// | a view | its memory is used; refused unless it is contiguous, of exactly that shape, and on the stream's device |
    /// | overlaps an input | refused, unless the kernel is [declared in place](Registration::in_place) and both begin at the same byte |
    ///
    /// Views of the destination's old memory keep that memory. Views of memory that is used again see the new contents.
    /// The launch looks for overlaps with the buffers, views and addresses among the arguments, and with the addresses
    /// in argument blocks and packed arguments.
    ///
    /// The table's refusals are the error [`LaunchProblem::Destination`](crate::LaunchProblem::Destination). After any
    /// error the destination's memory, length and shape are as they were.
    #[inline]
    pub fn destination<'d: 'a>(mut self, to: impl Into<Destination<'d>>, shape: &'a [usize]) -> Launch<'a> {
        let parameter = self.placement.take().and_then(|p| p.parameter);
        self.placement = Some(Placement { to: Some(to.into()), shape, parameter });
        self
    }

    /// The same launch with memory for its result, or tried once more.
    pub(super) fn again<'b>(
        &'b self,
        destination: Option<&'b DestinationArg<'b>>,
        is_retry: bool,
    ) -> Launch<'b> {
        let Launch { dims, arguments, staging, cooperative, .. } = *self;
        Launch { dims, arguments, staging, cooperative, is_retry, placement: None, destination }
    }

    /// Sets which parameter of the kernel, counted from 0, takes the destination's address. The packed arguments' bytes
    /// for it are ignored. Not needed with [`args`](Launch::args), which have [`Arg::Destination`].
    #[inline]
    pub fn destination_parameter(mut self, index: usize) -> Launch<'a> {
        let placement = self.placement.take().unwrap_or(Placement { to: None, shape: &[], parameter: None });
        self.placement = Some(Placement { parameter: Some(index), ..placement });
        self
    }
}

/// Where the code of a kernel to register is: on one device, or on each that needs it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum KernelSource {
    /// A module that is loaded on a device. The kernel can be launched there.
    Module(Module),
    /// A module that is loaded on a device when it is first needed there. The kernel can be launched on all devices of the
    /// launcher.
    LazyModule(LazyModule),
}

impl From<&Module> for KernelSource {
    fn from(module: &Module) -> KernelSource {
        KernelSource::Module(module.clone())
    }
}

impl From<&LazyModule> for KernelSource {
    fn from(module: &LazyModule) -> KernelSource {
        KernelSource::LazyModule(module.clone())
    }
}

/// A kernel to register: where its code is, the kernel's name, and what is known about the kernel.
///
/// [`Launcher::register_kernel`](crate::Launcher::register_kernel) registers it, and
/// [`Launcher::replace_kernel`](crate::Launcher::replace_kernel) replaces the kernel of an existing handle by it.
#[derive(Clone, Debug)]
#[must_use = "a description registers nothing; give it to `Launcher::register_kernel`"]
pub struct Registration<'a> {
    pub(super) source: KernelSource,
    pub(super) name: &'a str,
    pub(super) lds_bytes: Option<u32>,
    pub(super) in_place: bool,
}

impl<'a> Registration<'a> {
    /// Describes the kernel `name` of a module, without an LDS layout and not in place.
    ///
    /// The kernel of a [`Module`] can be launched on the module's device. The kernel of a [`LazyModule`] has one handle for
    /// all devices of the launcher.
    pub fn new(source: impl Into<KernelSource>, name: &'a str) -> Registration<'a> {
        Registration { source: source.into(), name, lds_bytes: None, in_place: false }
    }

    /// Sets the layout of dynamic LDS that the kernel's code was generated for.
    /// [`Launcher::set_lds_layout`](crate::Launcher::set_lds_layout) describes its effect.
    pub fn lds_layout(mut self, layout: &LdsLayout) -> Registration<'a> {
        self.lds_bytes = Some(layout.total());
        self
    }

    /// Allows the destination of a launch to be one of its inputs too.
    ///
    /// # Safety
    /// In every launch, all reads of an element of an input happen before any work-item writes that element's memory,
    /// as in an elementwise kernel.
    pub unsafe fn in_place(mut self) -> Registration<'a> {
        self.in_place = true;
        self
    }
}
