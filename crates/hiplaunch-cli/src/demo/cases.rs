//! What the demo launches: names, inputs, and the same computations on the host.

use std::fmt;

use hip_driver::Capability;
use hiplaunch::{Device, Error, LaunchDims};

use super::super::session::Session;
use super::{Launches, Stop, new, old};

/// A kernel and what is passed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Saxpy,
    Reduce,
    JitBlock,
    JitUnchanged,
    JitMapped,
    Arrays,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Old,
    New,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) way: Way,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.case.name(), self.way.name())
    }
}

impl Case {
    pub(super) const ALL: [Case; 6] =
        [Case::Saxpy, Case::Reduce, Case::JitBlock, Case::JitUnchanged, Case::JitMapped, Case::Arrays];

    pub(super) fn name(self) -> &'static str {
        match self {
            Case::Saxpy => "saxpy",
            Case::Reduce => "reduce",
            Case::JitBlock => "jit-block",
            Case::JitUnchanged => "jit-unchanged",
            Case::JitMapped => "jit-mapped",
            Case::Arrays => "arrays",
        }
    }

    /// The code object's source under `hip/` and the kernel.
    pub(super) fn kernel(self) -> (&'static str, &'static str) {
        match self {
            Case::Saxpy => ("vector", "saxpy"),
            Case::Reduce => ("reduce", "reduce_sum_f32"),
            Case::JitBlock | Case::JitUnchanged | Case::JitMapped => ("jit", "jit_polynomial"),
            Case::Arrays => ("vector", "vadd_f32"),
        }
    }

    pub(super) fn dims(self) -> LaunchDims {
        match self {
            Case::Saxpy => LaunchDims::cover(SAXPY_ELEMENTS as u32, 256),
            Case::Reduce => LaunchDims::linear(REDUCE_GROUPS as u32, 256),
            Case::JitBlock | Case::JitUnchanged | Case::JitMapped => {
                LaunchDims::cover(JIT_ELEMENTS as u32, 64)
            }
            Case::Arrays => LaunchDims::cover(ARRAY_ELEMENTS as u32, 256),
        }
    }
}

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Old => "old",
            Way::New => "new",
        }
    }
}

impl Row {
    pub(super) fn all() -> impl Iterator<Item = Row> {
        Case::ALL.into_iter().flat_map(|case| [Way::Old, Way::New].map(|way| Row { case, way }))
    }

    pub(super) fn named(name: &str) -> Option<Row> {
        Row::all().find(|row| row.to_string() == name)
    }

    pub(super) fn description(self) -> &'static str {
        match (self.case, self.way) {
            (Case::Saxpy, Way::Old) => "y = a*x + y; y allocated, copied in, copied back and freed",
            (Case::Saxpy, Way::New) => "y = a*x + y; four arguments by value, y stays in its device buffer",
            (Case::Reduce, Way::Old) => {
                "block sums through LDS; their buffer allocated, copied back and freed"
            }
            (Case::Reduce, Way::New) => "block sums through LDS into a host out array, read by ticket",
            (Case::JitBlock, Way::Old) => {
                "96-byte argument block and 64-byte result, both allocated and freed"
            }
            (Case::JitBlock, Way::New) => {
                "96-byte argument block, other bytes each time, 64-byte result by ticket"
            }
            (Case::JitUnchanged, Way::Old) => "jit-block with the same bytes each time",
            (Case::JitUnchanged, Way::New) => {
                "jit-block with the same bytes each time, which are not copied again"
            }
            (Case::JitMapped, Way::Old) => "as jit-block",
            (Case::JitMapped, Way::New) => {
                "jit-block in mapped memory: the kernel reads and writes it, no copies"
            }
            (Case::Arrays, Way::Old) => "x + y of host arrays; three buffers allocated, copied and freed",
            (Case::Arrays, Way::New) => "x + y of host arrays, two in and one out, staged through scratch",
        }
    }

    /// Why the driver can't run it, where it can't.
    pub(super) fn unsupported(self, device: &Device) -> Option<&'static str> {
        let capabilities = device.driver().capabilities();
        match self {
            Row { way: Way::Old, .. } if !capabilities.has(Capability::BlockingCopy) => {
                Some("the driver has no blocking copies")
            }
            Row { case: Case::JitMapped, way: Way::New }
                if !capabilities.has(Capability::MappedHostMemory) =>
            {
                Some("the driver has no mapped host memory")
            }
            _ => None,
        }
    }

    pub(super) fn prepare(self, session: &Session) -> Result<Box<dyn Launches>, Error> {
        match self.way {
            Way::Old => old::prepare(self.case, &session.device),
            Way::New => new::prepare(self.case, &session.launcher, &session.device),
        }
    }
}

macro_rules! objects {
    ($($source:literal),*) => {
        /// The code objects under `hip/`: source, processor, bytes.
        const OBJECTS: &[(&str, &str, &[u8])] = &[
            $(($source, "gfx90a", include_bytes!(concat!("../../hip/", $source, ".gfx90a.co"))),
            ($source, "gfx942", include_bytes!(concat!("../../hip/", $source, ".gfx942.co"))),)*
        ];
    };
}

objects!("vector", "reduce", "jit");

/// The code object of a source for a device.
pub(super) fn image(device: &Device, source: &str) -> Result<&'static [u8], Error> {
    let processor = &device.properties().target.processor;
    let found = OBJECTS.iter().find(|(name, target, _)| *name == source && *target == processor.name());
    found.map(|(_, _, image)| *image).ok_or_else(|| Error::Invalid {
        what: "demo",
        problem: format!(
            "its kernels are compiled for gfx90a and gfx942, the device is {processor}; use --backend emulator, or \
             compile hip/*.hip for it with hip/build.sh"
        )
        .into(),
    })
}

pub(super) const SAXPY_ELEMENTS: usize = 1024;
pub(super) const REDUCE_ELEMENTS: usize = 1024;
pub(super) const REDUCE_GROUPS: usize = 2;
pub(super) const JIT_ELEMENTS: usize = 16;
pub(super) const ARRAY_ELEMENTS: usize = 256;

/// Bytes of `jit_polynomial`'s argument block; `hip/README.md` has its layout.
pub(super) const BLOCK_BYTES: usize = 32 + 4 * JIT_ELEMENTS;

/// Some floats that are not all alike.
pub(super) fn floats(seed: u32, n: usize) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        // Numerical Recipes' linear congruential generator; the high bits are the good ones.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 32768.0 - 1.0
    };
    (0..n).map(next).collect()
}

/// What a case computes, on the host.
pub(super) trait Host {
    /// Floats of a result.
    fn len(&self) -> usize;
    /// The result of launch `number`; they are asked for in order.
    fn result(&mut self, number: u64, result: &mut [f32]);
}

/// `y = fma(a, x, y)`, again and again.
#[derive(Debug)]
pub(super) struct Saxpy {
    pub(super) x: Vec<f32>,
    pub(super) y: Vec<f32>,
}

impl Saxpy {
    pub(super) fn new() -> Saxpy {
        Saxpy { x: floats(1, SAXPY_ELEMENTS), y: floats(2, SAXPY_ELEMENTS) }
    }

    /// Sums up to 0 over seven launches, so that y stays small.
    pub(super) fn factor(number: u64) -> f32 {
        (number % 7) as f32 * 0.25 - 0.75
    }

    pub(super) fn step(&mut self, number: u64) {
        let a = Saxpy::factor(number);
        self.y.iter_mut().zip(&self.x).for_each(|(y, x)| *y = a.mul_add(*x, *y));
    }
}

/// Sums of 256 work-items each, in the kernel's order.
#[derive(Debug)]
pub(super) struct Reduce {
    pub(super) x: Vec<f32>,
}

impl Reduce {
    pub(super) fn new() -> Reduce {
        Reduce { x: floats(3, REDUCE_ELEMENTS) }
    }

    /// How many elements a launch sums.
    pub(super) fn elements(number: u64) -> i32 {
        REDUCE_ELEMENTS as i32 - (number % 64) as i32
    }
}

impl Host for Reduce {
    fn len(&self) -> usize {
        REDUCE_GROUPS
    }

    fn result(&mut self, number: u64, result: &mut [f32]) {
        let x = &self.x[..Reduce::elements(number) as usize];
        for (group, sum) in result.iter_mut().enumerate() {
            let own = |item: usize| x.iter().skip(256 * group + item).step_by(256 * REDUCE_GROUPS);
            let mut v: [f32; 256] = std::array::from_fn(|item| own(item).fold(0.0, |sum, x| sum + x));
            let mut half = 128;
            while half > 0 {
                (0..half).for_each(|i| v[i] += v[i + half]);
                half /= 2;
            }
            *sum = v[0];
        }
    }
}

/// A cubic polynomial at 16 points, by way of an argument block.
#[derive(Debug)]
pub(super) struct Jit {
    x: Vec<f32>,
    /// The block, with a null where the result's address goes.
    pub(super) block: [u8; BLOCK_BYTES],
    changing: bool,
}

impl Jit {
    pub(super) fn new(changing: bool) -> Jit {
        let x = floats(4, JIT_ELEMENTS);
        let mut block = [0; BLOCK_BYTES];
        block[8..12].copy_from_slice(&(JIT_ELEMENTS as u32).to_le_bytes());
        block[32..].copy_from_slice(bytemuck::cast_slice(&x));
        let mut jit = Jit { x, block, changing };
        jit.put_coefficients(0);
        jit
    }

    fn coefficients(&self, number: u64) -> [f32; 4] {
        let k = if self.changing { number } else { 0 };
        [(k % 1024) as f32, 0.5, (k % 5) as f32 - 2.0, 0.125]
    }

    fn put_coefficients(&mut self, number: u64) {
        let c = self.coefficients(number);
        self.block[16..32].copy_from_slice(bytemuck::bytes_of(&c));
    }

    /// The block of launch `number`.
    pub(super) fn block(&mut self, number: u64) -> &mut [u8; BLOCK_BYTES] {
        if self.changing {
            self.put_coefficients(number);
        }
        &mut self.block
    }
}

impl Host for Jit {
    fn len(&self) -> usize {
        JIT_ELEMENTS
    }

    fn result(&mut self, number: u64, result: &mut [f32]) {
        let [c0, c1, c2, c3] = self.coefficients(number);
        for (result, &x) in result.iter_mut().zip(&self.x) {
            *result = c3.mul_add(x, c2).mul_add(x, c1).mul_add(x, c0);
        }
    }
}

/// The sum of two host arrays.
#[derive(Debug)]
pub(super) struct Arrays {
    pub(super) x: Vec<f32>,
    pub(super) y: Vec<f32>,
}

impl Arrays {
    pub(super) fn new() -> Arrays {
        Arrays { x: floats(5, ARRAY_ELEMENTS), y: floats(6, ARRAY_ELEMENTS) }
    }

    /// Makes the first array that of launch `number`: another one each time.
    pub(super) fn set(&mut self, number: u64) {
        self.x[0] = (number % 65536) as f32;
    }
}

impl Host for Arrays {
    fn len(&self) -> usize {
        ARRAY_ELEMENTS
    }

    fn result(&mut self, number: u64, result: &mut [f32]) {
        self.set(number);
        result.iter_mut().zip(self.x.iter().zip(&self.y)).for_each(|(result, (x, y))| *result = x + y);
    }
}

/// Results that were read and wait for their check.
#[derive(Debug)]
pub(super) struct Results {
    read: Vec<Vec<f32>>,
    used: usize,
    first: u64,
    expected: Vec<f32>,
}

impl Results {
    pub(super) fn new(len: usize) -> Results {
        Results {
            read: vec![vec![0.0; len]; super::DEPTH as usize],
            used: 0,
            first: 0,
            expected: vec![0.0; len],
        }
    }

    /// Room for the result of the next launch.
    pub(super) fn next(&mut self) -> &mut [f32] {
        self.used += 1;
        &mut self.read[self.used - 1]
    }

    /// Compares bit for bit, and forgets.
    pub(super) fn check(&mut self, host: &mut dyn Host) -> Result<(), Stop> {
        for got in &self.read[..self.used] {
            host.result(self.first, &mut self.expected);
            same(self.first, got, &self.expected)?;
            self.first += 1;
        }
        self.used = 0;
        Ok(())
    }
}

/// Whether two results are the same bits.
pub(super) fn same(number: u64, got: &[f32], want: &[f32]) -> Result<(), Stop> {
    match got.iter().zip(want).position(|(got, want)| got.to_bits() != want.to_bits()) {
        None => Ok(()),
        Some(i) => {
            Err(Stop::Wrong(format!("launch {number}, element {i}: got {:?}, want {:?}", got[i], want[i])))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_rows() {
        assert_eq!(Row::all().count(), 12);
        for row in Row::all() {
            assert_eq!(Row::named(&row.to_string()), Some(row));
        }
        assert_eq!(Row::named("saxpy"), None);
    }

    #[test]
    fn a_wrong_result_is_noticed() {
        let mut jit = Jit::new(true);
        let mut results = Results::new(jit.len());
        let mut right = vec![0.0; jit.len()];
        jit.result(0, &mut right);
        results.next().copy_from_slice(&right);
        assert!(results.check(&mut jit).is_ok());
        // The next launch has other coefficients.
        results.next().copy_from_slice(&right);
        let Err(Stop::Wrong(what)) = results.check(&mut jit) else { panic!() };
        assert!(what.contains("launch 1, element 0"), "{what}");
    }

    #[test]
    fn the_host_sums_every_element_once() {
        let mut reduce = Reduce { x: vec![1.0; REDUCE_ELEMENTS] };
        let mut sums = vec![0.0; reduce.len()];
        reduce.result(5, &mut sums);
        assert_eq!(sums.iter().sum::<f32>(), (REDUCE_ELEMENTS - 5) as f32);
    }
}
