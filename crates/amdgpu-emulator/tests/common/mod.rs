//! Shared by the tests of whole kernels: the code objects, and a launch that packs arguments.

#![allow(dead_code, reason = "not every test file uses all of it")]

use amdgpu_emulator::{Dispatch, DispatchStats, Error, LoadedProgram, Machine, MachineConfig};
use code_object::CodeObject;

/// The test kernels in five builds, each with a name for messages.
pub(crate) const OBJECTS: [(&str, &[u8]); 5] = [
    ("gfx90a -O3, code object v4", include_bytes!("../data/kernels.gfx90a.co")),
    ("gfx90a -O0, code object v4", include_bytes!("../data/kernels.gfx90a.O0.co")),
    ("gfx942 -O3, code object v5", include_bytes!("../data/kernels.gfx942.co")),
    ("gfx1030 -O3, waves of 64, code object v5", include_bytes!("../data/kernels.gfx1030.w64.co")),
    ("gfx1201 -O3, waves of 64, code object v5", include_bytes!("../data/kernels.gfx1201.w64.co")),
];

/// Kernels with one defect each, and similar kernels without one (defects.hip).
pub(crate) const DEFECTS: &[u8] = include_bytes!("../data/defects.gfx90a.co");

/// Kernels that fault, and kernels whose waves wait for each other (waiting.hip), for both targets.
pub(crate) const WAITING: [(&str, &[u8]); 2] = [
    ("gfx90a", include_bytes!("../data/waiting.gfx90a.co")),
    ("gfx942", include_bytes!("../data/waiting.gfx942.co")),
];

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    U32(u32),
    U64(u64),
}
pub(crate) use Arg::{U32, U64};

/// A machine with a loaded program.
pub(crate) struct Rig {
    pub(crate) machine: Machine,
    pub(crate) program: LoadedProgram,
    pub(crate) name: &'static str,
}

impl Rig {
    /// Returns a machine for each of [`OBJECTS`].
    pub(crate) fn all(config: &MachineConfig) -> Vec<Rig> {
        OBJECTS.into_iter().map(|(name, bytes)| Rig::new(config, name, bytes)).collect()
    }

    /// Returns a machine for each of [`WAITING`].
    pub(crate) fn waiting(config: &MachineConfig) -> Vec<Rig> {
        WAITING.into_iter().map(|(name, bytes)| Rig::new(config, name, bytes)).collect()
    }

    /// Returns a machine with the kernels of [`DEFECTS`].
    pub(crate) fn defects(config: &MachineConfig) -> Rig {
        Rig::new(config, "defects", DEFECTS)
    }

    pub(crate) fn new(config: &MachineConfig, name: &'static str, bytes: &[u8]) -> Rig {
        let machine = Machine::new(config.clone()).unwrap();
        let program = machine.load(&CodeObject::parse(bytes).unwrap()).unwrap();
        Rig { machine, program, name }
    }

    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        args: &[Arg],
    ) -> Result<DispatchStats, Error> {
        self.dispatch(false, kernel, (grid, block), dynamic_lds, args)
    }

    /// Launches a one-dimensional grid whose workgroups all run at the same time.
    pub(crate) fn run_cooperative(
        &self,
        kernel: &str,
        grid: u32,
        block: u32,
        dynamic_lds: u32,
        args: &[Arg],
    ) {
        self.dispatch(true, kernel, ([grid, 1, 1], [block, 1, 1]), dynamic_lds, args)
            .unwrap_or_else(|e| panic!("{}: {kernel}: {e}", self.name));
    }

    fn dispatch(
        &self,
        cooperative: bool,
        kernel: &str,
        (grid, block): ([u32; 3], [u32; 3]),
        dynamic_lds: u32,
        args: &[Arg],
    ) -> Result<DispatchStats, Error> {
        let index = self.program.kernel_index(kernel).unwrap();
        let signature = &self.program.kernels()[index];
        let mut kernarg = vec![0; signature.explicit_size() as usize];
        assert_eq!(signature.explicit_args().len(), args.len(), "{kernel}");
        for (arg, at) in args.iter().zip(signature.explicit_args()) {
            let bytes: &[u8] = match arg {
                U32(v) => &v.to_le_bytes(),
                U64(v) => &v.to_le_bytes(),
            };
            kernarg[at.offset as usize..at.end() as usize].copy_from_slice(bytes);
        }
        let stats = self.machine.dispatch(
            &self.program,
            &Dispatch { cooperative, kernel: index, grid, block, dynamic_lds, kernarg: &kernarg },
        )?;
        if let Some(longest) = self.program.longest_wave(index) {
            assert!(stats.wave_instructions <= longest * stats.waves, "{}: {kernel}: {longest}", self.name);
        }
        Ok(stats)
    }

    /// Launches a one-dimensional grid, which must run without error.
    pub(crate) fn run(&self, kernel: &str, grid: u32, block: u32, args: &[Arg]) -> DispatchStats {
        self.launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args)
            .unwrap_or_else(|e| panic!("{}: {kernel}: {e}", self.name))
    }

    /// Allocates device memory with these words, and returns its address.
    pub(crate) fn words(&self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let address = self.machine.memory().alloc(bytes.len() as u64, 0).unwrap();
        self.machine.memory().write(address, &bytes).unwrap();
        address
    }

    pub(crate) fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.machine.memory().read(address, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }
}

/// Returns the default settings with a number of threads.
pub(crate) fn threads(threads: usize) -> MachineConfig {
    MachineConfig { threads, ..MachineConfig::default() }
}
