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

/// The result of a device call.
type Result<T> = hiplaunch::Result<T>;

/// A rank's block on its device.
pub(crate) struct Solver {
    launcher: Launcher,
    stream: Stream,
    interior: KernelHandle,
    border: KernelHandle,
    tile_sums: KernelHandle,
    block: Block,
    /// alpha dt / dx^2.
    diffusion: f64,
    /// The state, and where the next one is computed. Each has the block with its halo.
    fields: [DeviceBuffer<f64>; 2],
    /// Two sums a tile: of the squared changes and of the cells.
    sums: DeviceBuffer<f64>,
    launches: u64,
}

impl Solver {
    /// Makes a solver with the cells of its block, row by row. `most_tiles` is the most that any rank has, so that the sums
    /// of all ranks are of one size. The halo at the field's own border is 0 and stays so.
    ///
    /// # Errors
    /// No code for the device, or no memory.
    pub(crate) fn new(
        launcher: &Launcher,
        device: &Device,
        block: Block,
        diffusion: f64,
        most_tiles: usize,
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
        let mut sums = DeviceBuffer::on(&stream, 2 * most_tiles)?;
        sums.fill_bytes(&stream, 0)?;
        Ok(Solver {
            launcher: launcher.clone(),
            interior: register("heat_interior")?,
            border: register("heat_border")?,
            tile_sums: register("heat_tile_sums")?,
            block,
            diffusion,
            fields,
            sums,
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

    /// The sums of [`sum_tiles`](Solver::sum_tiles).
    pub(crate) fn sums(&self) -> &DeviceBuffer<f64> {
        &self.sums
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

    /// Enqueues the sums of all tiles over the last step: of the squared changes and of the cells.
    ///
    /// # Errors
    /// The launch fails.
    pub(crate) fn sum_tiles(&mut self) -> Result<()> {
        let [across, down] = self.block.tiles().map(|tiles| tiles as u32);
        let [to, from] = &self.fields;
        let arguments = args![from, to, &self.sums, self.block.width as i32, self.block.height as i32];
        let dims = LaunchDims::new([across, down, 1], [TILE as u32, TILE as u32, 1]);
        // SAFETY: as above; `sums` has two elements for each tile of the block.
        unsafe { self.launcher.enqueue(self.tile_sums, &self.stream, Launch::new(dims).args(&arguments)) }?;
        self.launches += 1;
        Ok(())
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
    use super::*;
    use crate::domain::Domain;
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

    /// The field after some steps, with the sums of the last one.
    fn run(
        width: usize,
        height: usize,
        ranks: usize,
        steps: usize,
        initial: Initial,
    ) -> (Vec<f64>, [f64; 2]) {
        let domain = Domain::new(width, height, ranks).unwrap();
        let launcher = Launcher::new().unwrap();
        let device = launcher.device(0).unwrap();
        let mut solvers: Vec<Solver> = (0..ranks)
            .map(|rank| {
                let block = domain.block(rank);
                let cells = initial.cells(&domain, &block);
                Solver::new(&launcher, device, block, 0.2, domain.most_tiles(), &cells).unwrap()
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
        let sums: Vec<Vec<f64>> = solvers
            .iter_mut()
            .map(|solver| {
                solver.sum_tiles().unwrap();
                solver.sums.to_vec(&solver.stream).unwrap()
            })
            .collect();
        let total = |which| domain.sum(|rank, tile| sums[rank][2 * tile + which]);
        (domain.assemble(&blocks), [total(0), total(1)])
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
            let (field, _) = run(width, height, 1, 7, Initial::Discs);
            assert!(field.iter().any(|cell| *cell != 0.0));
            assert_eq!(field, expected, "{width}x{height}");
        }
    }

    #[test]
    fn ranks_change_no_bit_of_the_field_or_of_the_sums() {
        let (field, sums) = run(129, 100, 1, 5, Initial::Discs);
        assert!(sums[0] > 0.0 && sums[1] > 0.0);
        for ranks in [2, 4, 6, 8] {
            let (other, other_sums) = run(129, 100, ranks, 5, Initial::Discs);
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
        let (field, _) = run(width, height, 2, steps, Initial::Sine);
        for (cell, before) in field.iter().zip(expected) {
            assert!((cell - before * decay).abs() < 1e-13, "{cell} instead of {}", before * decay);
        }
    }
}
