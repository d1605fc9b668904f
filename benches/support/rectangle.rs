//! Planning problems with a known answer: a full rectangle of time and bytes is cut up, so that the pieces fit into it
//! again with nothing to spare, in the style of minimalloc's `challenging` instances (154 to 454 buffers, 2^20 bytes,
//! everything a multiple of 1024).

/// Bytes of the whole rectangle: the optimum.
pub(crate) const BYTES: u64 = 1 << 20;

/// One unit of time and bytes.
const UNIT: u64 = 1024;

/// A buffer: half-open lifetime, and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) lower: u64,
    pub(crate) upper: u64,
    pub(crate) size: u64,
}

/// xorshift64*, so that every run has the same instances.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }
}

/// Left, bottom, width (time), height (bytes), in units.
type Cut = (u64, u64, u64, u64);

/// Cuts the rectangle into `count` pieces, in random order. Two cuts of three go through a whole piece; the third is a
/// pinwheel of five, which no such cuts can make.
pub(crate) fn challenging(count: usize, seed: u64) -> Vec<Piece> {
    let mut random = Random::new(seed);
    let mut pieces: Vec<Cut> = vec![(0, 0, BYTES / UNIT, BYTES / UNIT)];
    while pieces.len() < count {
        // One of the larger pieces: the largest of three.
        let at = (0..3)
            .map(|_| random.below(pieces.len() as u64) as usize)
            .max_by_key(|&i| pieces[i].2 * pieces[i].3)
            .unwrap_or(0);
        let (x, y, w, h) = pieces[at];
        let pinwheel = random.below(3) == 0 && w >= 3 && h >= 3 && pieces.len() + 4 <= count;
        let new: Vec<Cut> = if pinwheel {
            // Two different cuts each way.
            let a = 1 + random.below(w - 2);
            let b = a + 1 + random.below(w - a - 1);
            let c = 1 + random.below(h - 2);
            let d = c + 1 + random.below(h - c - 1);
            vec![
                (x, y, b, c),
                (x + b, y, w - b, d),
                (x + a, y + d, w - a, h - d),
                (x, y + c, a, h - c),
                (x + a, y + c, b - a, d - c),
            ]
        } else if random.below(2) == 0 && w >= 2 {
            let a = 1 + random.below(w - 1);
            vec![(x, y, a, h), (x + a, y, w - a, h)]
        } else if h >= 2 {
            let c = 1 + random.below(h - 1);
            vec![(x, y, w, c), (x, y + c, w, h - c)]
        } else {
            continue;
        };
        pieces.swap_remove(at);
        pieces.extend(new);
    }
    for i in (1..pieces.len()).rev() {
        let j = random.below(i as u64 + 1) as usize;
        pieces.swap(i, j);
    }
    pieces
        .into_iter()
        .map(|(x, _, w, h)| Piece { lower: x * UNIT, upper: (x + w) * UNIT, size: h * UNIT })
        .collect()
}

/// How many pieces the eleven instances of the benchmark have.
pub(crate) const COUNTS: [usize; 11] = [154, 170, 203, 213, 215, 245, 276, 307, 343, 399, 454];
