//! The kernels of a device: lowered to HIP C++, compiled by hiprtc or found in the compile cache, and registered once.

use std::sync::Arc;

use cubecl_core::ir::DeviceProperties;
use cubecl_core::ir::amd::GfxArch;
use cubecl_core::server::ResourceLimitError;
use cubecl_cpp::shared::{CompilationOptions, CppCompiler, CppSupportedFeatures};
use cubecl_cpp::target::Hip;
use cubecl_environment::backtrace::BackTrace;
use cubecl_environment::collections::HashMap;
use cubecl_server::compiler::CompilationError;
use cubecl_server::id::KernelId;
use cubecl_server::kernel::{BufferIOAttr, CompiledKernel, CubeKernel, DebugInformation};
use cubecl_server::logging::ServerLogger;
use cubecl_server::server::LaunchError;
use cubecl_server::validation::{validate_cube_dim, validate_units};
use hiplaunch::code_object::{ArgSignature, CodeObject, ValueKind};
use hiplaunch::{Compile, Compiler, Device, KernelHandle, Launcher};

use crate::error::Failure;

/// What generated code uses of HIP that its older versions lack.
const COMPAT: (&str, &str) = ("cubecl_hiplaunch/hip_compat.h", include_str!("hip_compat.h"));
/// What generated code with the type bf16 includes.
const BF16: (&str, &str) = ("hip/hip_bf16.h", include_str!("hip_bf16.h"));

/// Compiles and keeps the kernels of a device.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub(crate) launcher: &'static Launcher,
    pub(crate) device: Device,
    properties: DeviceProperties,
    options: CompilationOptions,
    compiler: Compiler,
    loaded: HashMap<KernelId, Arc<LoadedKernel>>,
}

/// A kernel that is registered.
#[derive(Debug)]
pub(crate) struct LoadedKernel {
    pub(crate) handle: KernelHandle,
    /// The number of units of a cube in x, y and z.
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_lds: u32,
    parameters: Box<[Parameter]>,
    /// What it does with each buffer, if the compiler knows.
    pub(crate) io: Option<Arc<[BufferIOAttr]>>,
}

/// A parameter of a kernel, as its code object describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    Pointer,
    /// A value of this many bytes.
    Value(usize),
}

impl LoadedKernel {
    /// The parameters behind those for `buffers` buffers: an array of shapes and strides, the scalars by value, or none.
    pub(crate) fn parameters_behind(&self, buffers: usize) -> &[Parameter] {
        self.parameters.get(buffers..).unwrap_or_default()
    }
}

impl Kernels {
    pub(crate) fn new(launcher: &'static Launcher, device: &Device, properties: DeviceProperties) -> Kernels {
        let target = &device.properties().target;
        Kernels {
            launcher,
            device: device.clone(),
            options: CompilationOptions {
                warp_size: properties.hardware.plane_size_max as usize,
                supports_features: CppSupportedFeatures {
                    fast_math: true,
                    // Scalars and sizes by value: they travel with the launch, without a copy to the device.
                    grid_constants: true,
                    ..Default::default()
                },
                amd_wmma: GfxArch::parse(target.processor.name()).wmma(),
            },
            properties,
            compiler: Compiler::new(target)
                .options(["-std=c++17", "-O3"])
                .header(COMPAT.0, COMPAT.1)
                .header(BF16.0, BF16.1),
            loaded: HashMap::default(),
        }
    }

    /// Returns a kernel, which is compiled and registered if it is not yet.
    pub(crate) fn get(
        &mut self,
        id: &KernelId,
        kernel: Box<dyn CubeKernel>,
        logger: &ServerLogger,
    ) -> Result<Arc<LoadedKernel>, LaunchError> {
        if let Some(loaded) = self.loaded.get(id) {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(self.load(id, &*kernel, logger)?);
        self.loaded.insert(id.clone(), loaded.clone());
        Ok(loaded)
    }

    fn load(
        &self,
        id: &KernelId,
        kernel: &dyn CubeKernel,
        logger: &ServerLogger,
    ) -> Result<LoadedKernel, LaunchError> {
        validate_cube_dim(&self.properties, id)?;
        validate_units(&self.properties, id)?;
        let definition = cubecl_core::define_kernel(kernel)?;
        let mut compiler = CppCompiler::<Hip>::default();
        let mut lowered = CompiledKernel::compile(kernel, definition, &mut compiler, &self.options)?;
        if logger.compilation_source_activated() {
            lowered.debug_info = Some(DebugInformation::new("cpp", id.clone()));
        }
        logger.log_compilation(&lowered);
        // A kernel whose source CubeCL did not make declares its shared memory itself.
        let dynamic_lds = lowered.repr.as_ref().map_or(0, |kernel| kernel.shared_memory_size);
        let max = self.properties.hardware.max_shared_memory_size;
        if dynamic_lds > max {
            let backtrace = BackTrace::capture();
            return Err(ResourceLimitError::SharedMemory { requested: dynamic_lds, max, backtrace }.into());
        }
        let name = &lowered.entrypoint_name;
        let source = format!("#include <{}>\n{}", COMPAT.0, lowered.source);
        let compiled = CodeObject::compile(&source, &self.compiler).map_err(|error| {
            let reason = format!("{error}\n[Source]\n{source}");
            CompilationError::Generic { reason, backtrace: BackTrace::capture() }
        })?;
        // SAFETY: the code is what CubeCL generated. What its kernels access follows from their arguments, for which those
        // who launch them are responsible (`Server::launch` is unsafe).
        let handle = unsafe { self.launcher.register(&self.device, compiled.elf(), name) };
        let handle =
            handle.map_err(|error| LaunchError::from(CompilationError::from(Failure::from(error))))?;
        let signature = self.launcher.signature(handle).map_err(Failure::from)?;
        Ok(LoadedKernel {
            handle,
            block: [lowered.cube_dim.x, lowered.cube_dim.y, lowered.cube_dim.z],
            dynamic_lds: dynamic_lds as u32,
            parameters: signature.explicit_args().iter().map(Parameter::from).collect(),
            io: lowered.io.map(Arc::from),
        })
    }
}

impl From<&ArgSignature> for Parameter {
    fn from(arg: &ArgSignature) -> Parameter {
        match arg.kind {
            ValueKind::ByValue => Parameter::Value(arg.size as usize),
            _ => Parameter::Pointer,
        }
    }
}
