//! The steps of one rank on its device: interior, then border.
//!
//! The exchange of the halos is enqueued first. It runs beside the interior, whose cells read no halo; the border follows
//! once the halos are there:
//!
//! ```text
//! exchange   ─ packs ─ messages ─ unpacks ─┐
//! stream     ─ interior ───────────────────┴─ border ─▶ next step
//! ```

use hiplaunch::{
    Device, DeviceBuffer, DeviceView, FatBinary, KernelHandle, Launch, LaunchDims, Launcher, Stream, args,
};

use crate::domain::{Block, Side, TILE};
use crate::exact::ExactSum;

/// The result of a device call.
type Result<T> = hiplaunch::Result<T>;

/// A rank's block on its device.
pub(crate) struct Solver {
    launcher: Launcher,
    stream: Stream,
    interior: KernelHandle,
    border: KernelHandle,
    sum_tiles: KernelHandle,
    block: Block,
    /// alpha dt / dx^2.
    diffusion: f64,
    /// The state, and where the next one is computed. Each has the block with its halo.
    fields: [DeviceBuffer<f64>; 2],
    /// Two sums a tile: of the squared changes and of the cells.
    tile_sums: DeviceBuffer<f64>,
    launches: u64,
}

impl Solver {
    /// Makes a solver with the cells of its block, row by row. The halo at the field's own border is 0 and stays so.
    ///
    /// # Errors
    /// No code for the device, or no memory.
    pub(crate) fn new(
        launcher: &Launcher,
        device: &Device,
        block: Block,
        diffusion: f64,
        cells: &[f64],
    ) -> Result<Solver> {
        let code = FatBinary::new("heat", &include_bytes!("../../hip/heat.hipfb")[..])
            .source(include_str!("../../hip/heat.hip"))
            .header("kernel.h", include_str!("../../hip/kernel.h"))
            .for_device(device)?;
        let register = |kernel| {
            // SAFETY: kernels of this program, which are launched below with what heat.hip asks for.
            unsafe { launcher.register(device, code.elf(), kernel) }
        };
        let stream = launcher.stream(device)?;
        let mut padded = vec![0.0; block.padded()];
        for (y, row) in cells.chunks_exact(block.width).enumerate() {
            padded[(y + 1) * block.pitch() + 1..][..block.width].copy_from_slice(row);
        }
        let fields =
            [DeviceBuffer::from_slice(&stream, &padded)?, DeviceBuffer::from_slice(&stream, &padded)?];
        let tiles: usize = block.tiles().iter().product();
        let tile_sums = DeviceBuffer::on(&stream, 2 * tiles)?;
        Ok(Solver {
            launcher: launcher.clone(),
            interior: register("heat_interior")?,
            border: register("heat_border")?,
            sum_tiles: register("heat_tile_sums")?,
            block,
            diffusion,
            fields,
            tile_sums,
            launches: 0,
            stream,
        })
    }

    /// The stream of all work of this solver.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The launches of this solver so far.
    pub(crate) fn launches(&self) -> u64 {
        self.launches
    }

    /// The cells of the block that the neighbour on that side reads.
    ///
    /// # Errors
    /// None for a block of at least one cell.
    pub(crate) fn edge(&self, side: Side) -> Result<DeviceView<f64>> {
        self.line(side, 1)
    }

    /// The halo on that side, where the neighbour's edge goes.
    ///
    /// # Errors
    /// None for a block of at least one cell.
    pub(crate) fn halo(&self, side: Side) -> Result<DeviceView<f64>> {
        self.line(side, 0)
    }

    /// The cells along a side, `inwards` cells from the halo.
    fn line(&self, side: Side, inwards: usize) -> Result<DeviceView<f64>> {
        let Block { width, height, .. } = self.block;
        let pitch = self.block.pitch();
        let (offset, cells, stride) = match side {
            Side::West => (pitch + inwards, height, pitch),
            Side::East => (pitch + width + 1 - inwards, height, pitch),
            Side::North => (inwards * pitch + 1, width, 1),
            Side::South => ((height + 1 - inwards) * pitch + 1, width, 1),
        };
        self.fields[0].view_strided(offset, &[cells], &[stride as isize])
    }

    /// Enqueues the cells that read no halo. The host does not wait.
    ///
    /// # Errors
    /// The launch fails.
    pub(crate) fn interior(&mut self) -> Result<()> {
        let inner = [self.block.width, self.block.height].map(|cells| cells.saturating_sub(2) as u32);
        if inner[0] == 0 || inner[1] == 0 {
            return Ok(());
        }
        let grid = [inner[0].div_ceil(64), inner[1].div_ceil(4), 1];
        self.step_kernel(self.interior, LaunchDims::new(grid, [64, 4, 1]))
    }

    /// Ends a step, when the stream waits for the halos: enqueues the cells that read them. The host does not wait.
    ///
    /// # Errors
    /// The launch fails.
    pub(crate) fn border(&mut self) -> Result<()> {
        self.step_kernel(self.border, LaunchDims::cover(self.block.border_cells() as u32, 256))?;
        self.fields.swap(0, 1);
        Ok(())
    }

    fn step_kernel(&mut self, kernel: KernelHandle, dims: LaunchDims) -> Result<()> {
        let [from, to] = &self.fields;
        let (width, height) = (self.block.width as i32, self.block.height as i32);
        let arguments = args![from, to, self.diffusion, width, height];
        // SAFETY: the kernels' arguments as heat.hip has them; both arrays have the block with its halo.
        unsafe { self.launcher.enqueue(kernel, &self.stream, Launch::new(dims).args(&arguments)) }?;
        self.launches += 1;
        Ok(())
    }

    /// Waits, and returns the sum of the squared changes of the last step and the sum of the cells, of this block.
    ///
    /// # Errors
    /// The launch fails.
    pub(crate) fn sums(&mut self) -> Result<[ExactSum; 2]> {
        let [across, down] = self.block.tiles().map(|tiles| tiles as u32);
        let [to, from] = &self.fields;
        let (width, height) = (self.block.width as i32, self.block.height as i32);
        let arguments = args![from, to, &self.tile_sums, width, height];
        let dims = LaunchDims::new([across, down, 1], [TILE as u32, TILE as u32, 1]);
        // SAFETY: as above; `tile_sums` has two elements for each tile of the block.
        unsafe { self.launcher.enqueue(self.sum_tiles, &self.stream, Launch::new(dims).args(&arguments)) }?;
        self.launches += 1;
        let tiles = self.tile_sums.to_vec(&self.stream)?;
        Ok([0, 1].map(|which| ExactSum::of(tiles.iter().skip(which).step_by(2).copied())))
    }

    /// Waits, and returns the cells of the block, row by row.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn cells(&self) -> Result<Vec<f64>> {
        let padded = self.fields[0].to_vec(&self.stream)?;
        let rows = padded.chunks_exact(self.block.pitch()).skip(1).take(self.block.height);
        Ok(rows.flat_map(|row| &row[1..=self.block.width]).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use hiplaunch::Backend;
    use hiplaunch::driver::emulated::EmulatorOptions;

    use super::*;
    use crate::domain::Domain;
    use crate::exact;
    use crate::initial::Initial;

    /// One step as the kernels make it, on the whole field.
    fn reference_step(field: &[f64], width: usize, diffusion: f64) -> Vec<f64> {
        let height = field.len() / width;
        let at = |x: isize, y: isize| match (usize::try_from(x), usize::try_from(y)) {
            (Ok(x), Ok(y)) if x < width && y < height => field[y * width + x],
            _ => 0.0,
        };
        let cell = |i: usize| {
            let (x, y) = ((i % width) as isize, (i / width) as isize);
            let sum = (at(x - 1, y) + at(x + 1, y)) + (at(x, y - 1) + at(x, y + 1));
            diffusion.mul_add((-4.0f64).mul_add(at(x, y), sum), at(x, y))
        };
        (0..field.len()).map(cell).collect()
    }

    /// Carries edges to halos by way of the host.
    fn exchange(domain: &Domain, solvers: &mut [Solver]) {
        let padded: Vec<Vec<f64>> = solvers.iter().map(|s| s.fields[0].to_vec(&s.stream).unwrap()).collect();
        let opposite = |side| match side {
            Side::West => Side::East,
            Side::East => Side::West,
            Side::North => Side::South,
            Side::South => Side::North,
        };
        for rank in 0..solvers.len() {
            let mut mine = padded[rank].clone();
            for side in Side::ALL {
                let Some(other) = domain.neighbour(rank, side) else { continue };
                let edge = solvers[other].edge(opposite(side)).unwrap();
                let halo = solvers[rank].halo(side).unwrap();
                let places = |line: &DeviceView<f64>| {
                    let (offset, stride) = (line.layout().offset(), line.strides()[0] as usize);
                    (0..line.len()).map(move |i| offset + i * stride)
                };
                for (to, from) in places(&halo).zip(places(&edge)) {
                    mine[to] = padded[other][from];
                }
            }
            let solver = &mut solvers[rank];
            solver.fields[0].upload(&solver.stream, &mine).unwrap();
        }
    }

    /// The field after some steps on a target, with the sums of the last one. A kernel with a data race, a missing wait or
    /// a read of memory that was never written fails.
    fn run(
        target: &str,
        size: (usize, usize),
        ranks: usize,
        steps: usize,
        initial: Initial,
    ) -> (Vec<f64>, [f64; 2]) {
        let domain = Domain::new(size.0, size.1, ranks).unwrap();
        let mut options = EmulatorOptions { target: target.parse().unwrap(), ..EmulatorOptions::default() };
        options.machine.sanitize = true;
        let launcher = Launcher::builder().backend(Backend::Emulator).emulator(options).build().unwrap();
        let device = launcher.device(0).unwrap();
        let mut solvers: Vec<Solver> = (0..ranks)
            .map(|rank| {
                let block = domain.block(rank);
                let cells = initial.cells(&domain, &block);
                Solver::new(&launcher, device, block, 0.2, &cells).unwrap()
            })
            .collect();
        for _ in 0..steps {
            exchange(&domain, &mut solvers);
            for solver in &mut solvers {
                solver.interior().unwrap();
                solver.border().unwrap();
            }
        }
        let blocks: Vec<_> = solvers.iter().map(|solver| solver.cells().unwrap()).collect();
        // As an all-reduce adds them.
        let mut words = [[0; exact::WORDS]; 2];
        for solver in &mut solvers {
            for (all, sum) in words.iter_mut().zip(solver.sums().unwrap()) {
                all.iter_mut().zip(sum.words()).for_each(|(all, word)| *all += word);
            }
        }
        (domain.assemble(&blocks), words.map(|words| ExactSum::from_words(&words).round()))
    }

    #[test]
    fn steps_are_those_of_the_reference_to_the_bit() {
        // One tile, one row and one column at the end of a block, and cells of a tile that is not full.
        for (width, height) in [(16, 16), (17, 33), (1, 20), (20, 1), (70, 45)] {
            let whole = Domain::new(width, height, 1).unwrap();
            let mut expected = Initial::Discs.cells(&whole, &whole.block(0));
            for _ in 0..7 {
                expected = reference_step(&expected, width, 0.2);
            }
            for target in ["gfx90a", "gfx942", "gfx950"] {
                let (field, _) = run(target, (width, height), 1, 7, Initial::Discs);
                assert!(field.iter().any(|cell| *cell != 0.0));
                assert_eq!(field, expected, "{width}x{height} on {target}");
            }
        }
    }

    #[test]
    fn ranks_change_no_bit_of_the_field_or_of_the_sums() {
        let (field, sums) = run("gfx90a", (129, 100), 1, 5, Initial::Discs);
        assert!(sums[0] > 0.0 && (sums[1] - field.iter().sum::<f64>()).abs() < 1e-9, "{sums:?}");
        for (ranks, target) in [(2, "gfx950"), (4, "gfx942"), (6, "gfx90a"), (8, "gfx950")] {
            let (other, other_sums) = run(target, (129, 100), ranks, 5, Initial::Discs);
            assert_eq!(other, field, "{ranks} ranks");
            assert_eq!(other_sums.map(f64::to_bits), sums.map(f64::to_bits), "{ranks} ranks");
        }
    }

    #[test]
    fn the_lowest_mode_decays_as_the_discrete_equation_says() {
        let (width, height, steps) = (31, 47, 50);
        let whole = Domain::new(width, height, 1).unwrap();
        let decay = Initial::sine_decay(width, height, 0.2).powi(steps as i32);
        let expected = Initial::Sine.cells(&whole, &whole.block(0));
        let (field, _) = run("gfx942", (width, height), 2, steps, Initial::Sine);
        for (cell, before) in field.iter().zip(expected) {
            assert!((cell - before * decay).abs() < 1e-13, "{cell} instead of {}", before * decay);
        }
    }
}
