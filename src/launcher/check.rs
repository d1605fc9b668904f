//! Checks of a launch against the metadata of its kernel and the limits of the device, and the errors that they give.

use std::sync::PoisonError;

use crate::code::{DeviceKernel, KnownOccupancy, LaunchDims, Parameter, ParameterKind};
use crate::error::{Error, LaunchProblem, Result};
use hip_driver::{CallKind, Capability, DriverError, DriverResult, ErrorCode};

use super::args::Arg;

impl DeviceKernel {
    /// Checks grid, block and LDS against the kernel's and the device's limits.
    #[inline]
    pub(crate) fn check_dims(&self, dims: &LaunchDims) -> Result<()> {
        let limits = self.device().properties();
        let (grid, block) = (dims.grid, dims.block);
        let [x, y, z] = block.map(u64::from);
        let total = (x * y).saturating_mul(z);
        if total == 0 || total > u64::from(self.max_total) || (0..3).any(|i| block[i] > limits.max_block[i]) {
            let (max_axes, max_total) = (limits.max_block, self.max_total);
            return Err(self.refuse(LaunchProblem::Block { block, max_axes, max_total }));
        }
        if let Some(required) = self.required_block
            && required != block
        {
            return Err(self.refuse(LaunchProblem::RequiredBlock { block, required }));
        }
        // HIP returns hipErrorInvalidConfiguration where `grid * block` of an axis is over `u32::MAX`.
        let over = |i: usize| {
            grid[i] > limits.max_grid[i] || u64::from(grid[i]) * u64::from(block[i]) > u64::from(u32::MAX)
        };
        if (0..3).any(over) {
            return Err(self.refuse(LaunchProblem::Grid { grid, block, max_axes: limits.max_grid }));
        }
        if u64::from(self.static_lds) + u64::from(dims.dynamic_lds) > u64::from(limits.max_lds_per_block) {
            let (fixed, dynamic, limit) = (self.static_lds, dims.dynamic_lds, limits.max_lds_per_block);
            return Err(self.refuse(LaunchProblem::Lds { fixed, dynamic, limit }));
        }
        Ok(())
    }

    /// Returns the dimensions of a launch with the LDS of the kernel's layout, once they are checked.
    pub(crate) fn with_checked_dims(&self, requested: LaunchDims) -> Result<LaunchDims> {
        let dims = LaunchDims { dynamic_lds: self.with_layout(requested.dynamic_lds)?, ..requested };
        self.check_dims(&dims)?;
        Ok(dims)
    }

    /// Checks the number of arguments.
    #[inline]
    pub(crate) fn check_count(&self, got: usize) -> Result<()> {
        if got == self.parameters.len() { Ok(()) } else { Err(self.refuse_count(got)) }
    }

    /// Checks the number, sizes and kinds of the arguments against the metadata.
    pub(crate) fn check_args(&self, args: &[Arg<'_>]) -> Result<()> {
        self.check_count(args.len())?;
        let mut both = args.iter().zip(&self.parameters).enumerate();
        both.try_for_each(|(index, (arg, parameter))| self.check_arg(index, arg, parameter))
    }

    /// Checks size and kind of an argument against its parameter.
    fn check_arg(&self, index: usize, arg: &Arg<'_>, parameter: &Parameter) -> Result<()> {
        let fits = takes(parameter, arg) && arg.size() == parameter.size as usize;
        if fits { Ok(()) } else { Err(self.refuse_arg(index, arg)) }
    }

    #[cold]
    pub(crate) fn refuse_arg(&self, index: usize, arg: &Arg<'_>) -> Error {
        let kind_fits = takes(&self.parameters[index], arg);
        self.refuse_parameter(index, arg.size(), arg.kind(), kind_fits)
    }

    #[cold]
    fn refuse_parameter(&self, index: usize, size: usize, kind: &'static str, kind_fits: bool) -> Error {
        let parameter = self.parameters[index];
        let name = self.signature.explicit_args().get(index).and_then(|a| a.name.as_deref()).map(Box::from);
        if kind_fits {
            return self.refuse(LaunchProblem::ArgumentSize {
                index,
                name,
                expected: parameter.size,
                got: size,
            });
        }
        let expected = match parameter.kind {
            ParameterKind::Pointer => "pointer",
            ParameterKind::Value => "value",
        };
        self.refuse(LaunchProblem::ArgumentKind { index, name, expected, got: kind })
    }

    /// Returns the error for a wrong number of arguments.
    #[cold]
    pub(crate) fn refuse_count(&self, got: usize) -> Error {
        self.refuse(LaunchProblem::ArgumentCount { expected: self.parameters.len(), got })
    }

    /// Checks the length in bytes of packed arguments, which may have padding after the explicit part.
    #[inline]
    pub(crate) fn check_packed(&self, got: usize) -> Result<()> {
        let fits = (self.explicit_bytes as usize..=self.packed_limit as usize).contains(&got);
        if fits { Ok(()) } else { Err(self.refuse_packed(got)) }
    }

    #[cold]
    fn refuse_packed(&self, got: usize) -> Error {
        let (expected, limit) = (self.explicit_bytes, self.packed_limit);
        self.refuse(LaunchProblem::PackedSize { expected, limit, got })
    }

    /// Checks that parameter `index` takes a value of `size` bytes. `got` is the argument's kind, for the message.
    #[inline]
    pub(crate) fn check_value(&self, index: usize, size: usize, got: &'static str) -> Result<()> {
        let parameter = self.parameters[index];
        if parameter.kind == ParameterKind::Value && parameter.size as usize == size {
            return Ok(());
        }
        let fits = parameter.kind == ParameterKind::Value;
        Err(self.refuse_parameter(index, size, got, fits))
    }

    /// Checks that parameter `index` takes a pointer.
    #[inline]
    pub(crate) fn check_pointer(&self, index: usize) -> Result<()> {
        let parameter = self.parameters[index];
        if parameter.kind == ParameterKind::Pointer && parameter.size == 8 {
            return Ok(());
        }
        let fits = parameter.kind == ParameterKind::Pointer;
        Err(self.refuse_parameter(index, 8, "device pointer", fits))
    }

    /// Checks that all workgroups of a cooperative launch are on the device at once. The outer error is the driver's, which
    /// may be asked under the stream's lock.
    #[cold]
    pub(crate) fn check_cooperative(&self, dims: &LaunchDims) -> DriverResult<Result<()>> {
        let (device, block) = (self.device(), dims.block.iter().product::<u32>());
        let capabilities = device.raw().capabilities();
        if !capabilities.has(Capability::CooperativeLaunch) {
            let detail = "this driver has no cooperative launches";
            let call = CallKind::LaunchCooperative.name();
            return Ok(Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail).into()));
        }
        if dims.is_empty() || !capabilities.has(Capability::Occupancy) {
            return Ok(Ok(()));
        }
        let dynamic_lds = dims.dynamic_lds;
        let mut last = self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        let occupancy = match *last {
            Some(answer) if (answer.block, answer.dynamic_lds) == (block, dynamic_lds) => answer,
            _ => {
                // SAFETY: the module, which this kernel keeps, has the function.
                let per_unit =
                    unsafe { device.raw().occupancy(device.id(), self.function, block, dynamic_lds) }?;
                *last.insert(KnownOccupancy { block, dynamic_lds, per_unit })
            }
        };
        let limit = u64::from(occupancy.per_unit) * u64::from(device.properties().compute_units);
        let blocks = dims.grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
        if blocks > limit {
            return Ok(Err(self.refuse(LaunchProblem::CooperativeGrid { blocks, limit })));
        }
        Ok(Ok(()))
    }
}

/// Whether the parameter takes an argument of that kind, whatever its size.
fn takes(parameter: &Parameter, arg: &Arg<'_>) -> bool {
    match arg {
        Arg::Scalar { .. } | Arg::Value(_) => parameter.kind == ParameterKind::Value,
        Arg::Raw(_) => true,
        Arg::Pointer(_) | Arg::Buffer(_) | Arg::Destination | Arg::Host(_) | Arg::ArgumentBlock(_) => {
            parameter.kind == ParameterKind::Pointer
        }
    }
}
