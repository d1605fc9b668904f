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
    Device, DeviceBuffer, DeviceView, FatBinary, KernelHandle, Launch, LaunchDims, Launcher, Result, Stream,
    args,
};

use crate::exact::{ExactSum, sum_of};
use crate::field::{Block, Side, TILE};

/// A rank's block on its device.
pub(crate) struct Solver {
    launcher: Launcher,
    /// The stream of all work of this solver.
    pub(crate) stream: Stream,
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
    /// The launches of this solver so far.
    pub(crate) launches: u64,
}

impl Solver {
    /// Makes a solver with the cells of its block, row by row. The halo at the field's own border is 0 and stays so.
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
        let mut padded = vec![0.0; block.pitch() * (block.height + 2)];
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

    /// The cells along a side, `inwards` cells from the halo.
    pub(crate) fn line(&self, side: Side, inwards: usize) -> Result<DeviceView<f64>> {
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
    pub(crate) fn interior(&mut self) -> Result<()> {
        let inner = [self.block.width, self.block.height].map(|cells| cells.saturating_sub(2) as u32);
        if inner[0] == 0 || inner[1] == 0 {
            return Ok(());
        }
        let grid = [inner[0].div_ceil(64), inner[1].div_ceil(4), 1];
        self.step_kernel(self.interior, LaunchDims::new(grid, [64, 4, 1]))
    }

    /// Ends a step, when the stream waits for the halos: enqueues the cells that read them. The host does not wait.
    pub(crate) fn border(&mut self) -> Result<()> {
        self.step_kernel(self.border, LaunchDims::cover(self.block.border_cells() as u32, 256))?;
        self.fields.swap(0, 1);
        Ok(())
    }

    fn step_kernel(&mut self, kernel: KernelHandle, dims: LaunchDims) -> Result<()> {
        let ([from, to], Block { width, height, .. }) = (&self.fields, self.block);
        let arguments = args![from, to, self.diffusion, width as i32, height as i32];
        // SAFETY: the kernels' arguments as heat.hip has them; both arrays have the block with its halo.
        unsafe { self.launcher.enqueue(kernel, &self.stream, Launch::new(dims).args(&arguments)) }?;
        self.launches += 1;
        Ok(())
    }

    /// Waits, and returns the sum of the squared changes of the last step and the sum of the cells, of this block.
    pub(crate) fn sums(&mut self) -> Result<[ExactSum; 2]> {
        let [across, down] = self.block.tiles().map(|tiles| tiles as u32);
        let ([to, from], Block { width, height, .. }) = (&self.fields, self.block);
        let arguments = args![from, to, &self.tile_sums, width as i32, height as i32];
        let dims = LaunchDims::new([across, down, 1], [TILE as u32, TILE as u32, 1]);
        // SAFETY: the kernel's arguments as heat.hip has them; `tile_sums` has two elements for each tile of the block.
        unsafe { self.launcher.enqueue(self.sum_tiles, &self.stream, Launch::new(dims).args(&arguments)) }?;
        self.launches += 1;
        let tiles = self.tile_sums.to_vec(&self.stream)?;
        Ok([0, 1].map(|which| sum_of(tiles.iter().skip(which).step_by(2).copied())))
    }

    /// Waits, and returns the cells of the block, row by row.
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
    use crate::field::{Domain, Field};

    /// One step as the kernels make it.
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

    /// A kernel with a data race, a missing wait or a read of memory that was never written fails. heat.sh divides fields
    /// among ranks.
    #[test]
    fn steps_are_those_of_the_reference_to_the_bit() {
        // One tile, one row and one column at the end of a block, and cells of a tile that is not full.
        for (width, height) in [(16, 16), (17, 33), (1, 20), (20, 1), (70, 45)] {
            for target in ["gfx90a", "gfx942", "gfx950"].map(|target| target.parse().unwrap()) {
                let mut options = EmulatorOptions { target, ..EmulatorOptions::default() };
                options.machine.sanitize = true;
                let launcher =
                    Launcher::builder().backend(Backend::Emulator).emulator(options).build().unwrap();
                let mut cells = Field::initial(width, height).cells;
                let block = Domain::new(width, height, 1).unwrap().block(0);
                let device = launcher.device(0).unwrap();
                let mut solver = Solver::new(&launcher, device, block, 0.2, &cells).unwrap();
                for _ in 0..7 {
                    solver.interior().unwrap();
                    solver.border().unwrap();
                    cells = reference_step(&cells, width, 0.2);
                }
                assert_eq!(solver.cells().unwrap(), cells, "{width}x{height}");
                let [changes, heat] = solver.sums().unwrap().map(crate::exact::round);
                assert!(changes > 0.0 && (heat - cells.iter().sum::<f64>()).abs() < 1e-9, "{heat}");
            }
        }
    }
}
