//! Planning problems with a known answer: a full rectangle of time and bytes is cut up, so that the pieces fit into it
//! again with nothing to spare. For tests and benchmarks of planners, in the style of minimalloc's `challenging` instances (154 to 454 buffers, 2^20 bytes,
//! everything a multiple of 1024).

/// Bytes of the whole rectangle: the optimum.
pub const BYTES: u64 = 1 << 20;

/// One unit of time and bytes.
const UNIT: u64 = 1024;

/// A buffer: half-open lifetime, and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The first moment at which it is live.
    pub lower: u64,
    /// The first moment at which it is no longer live.
    pub upper: u64,
    /// Bytes.
    pub size: u64,
}

/// xorshift64*, so that every run has the same instances.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers that follow from `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number, below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }
}

/// Left, bottom, width (time), height (bytes), in units.
type Cut = (u64, u64, u64, u64);

/// How a rectangle is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two cuts of three go through a whole piece; the third is a pinwheel of five, which no such cuts can make.
    Mixed,
    /// Through whole pieces only.
    Straight,
    /// Pinwheels wherever they fit.
    Pinwheels,
    /// As mixed, with every cut near the middle: the pieces are alike in size.
    Even,
    /// As mixed, with twice as many cuts across time: many short-lived buffers of many bytes.
    Tall,
    /// As mixed, with twice as many cuts across bytes: many long-lived buffers of few bytes.
    Flat,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Shape; 6] =
        [Shape::Mixed, Shape::Straight, Shape::Pinwheels, Shape::Even, Shape::Tall, Shape::Flat];

    /// One of the places 1 to `n` - 1 to cut at.
    fn place(self, random: &mut Random, n: u64) -> u64 {
        match self {
            Shape::Even if n >= 4 => n / 4 + random.below(n / 2) + 1,
            _ => 1 + random.below(n - 1),
        }
    }
}

/// Cuts the rectangle into `count` pieces, in random order.
pub fn cut(shape: Shape, count: usize, seed: u64) -> Vec<Piece> {
    let mut random = Random::new(seed);
    let mut pieces: Vec<Cut> = vec![(0, 0, BYTES / UNIT, BYTES / UNIT)];
    while pieces.len() < count {
        // One of the larger pieces: the largest of three.
        let at = (0..3)
            .map(|_| random.below(pieces.len() as u64) as usize)
            .max_by_key(|&i| pieces[i].2 * pieces[i].3)
            .unwrap_or(0);
        let (x, y, w, h) = pieces[at];
        let wanted = match shape {
            Shape::Straight => false,
            Shape::Pinwheels => true,
            _ => random.below(3) == 0,
        };
        let pinwheel = wanted && w >= 3 && h >= 3 && pieces.len() + 4 <= count;
        let across_time = |random: &mut Random| match shape {
            Shape::Tall => random.below(3) > 0,
            Shape::Flat => random.below(3) == 0,
            _ => random.below(2) == 0,
        };
        let new: Vec<Cut> = if pinwheel {
            // Two different cuts each way.
            let a = shape.place(&mut random, w - 1);
            let b = a + shape.place(&mut random, w - a);
            let c = shape.place(&mut random, h - 1);
            let d = c + shape.place(&mut random, h - c);
            vec![
                (x, y, b, c),
                (x + b, y, w - b, d),
                (x + a, y + d, w - a, h - d),
                (x, y + c, a, h - c),
                (x + a, y + c, b - a, d - c),
            ]
        } else if across_time(&mut random) && w >= 2 {
            let a = shape.place(&mut random, w);
            vec![(x, y, a, h), (x + a, y, w - a, h)]
        } else if h >= 2 {
            let c = shape.place(&mut random, h);
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
pub const COUNTS: [usize; 11] = [154, 170, 203, 213, 215, 245, 276, 307, 343, 399, 454];
