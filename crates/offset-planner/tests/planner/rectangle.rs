//! Planning problems with a known answer: a full rectangle of time and bytes is cut into pieces, so the pieces fit into
//! it without a gap. They are for tests and benchmarks of planners, in the style of minimalloc's `challenging`
//! instances (154 to 454 buffers, 2^20 bytes, all sizes multiples of 1024).

/// The height of the rectangle in bytes: the least total.
pub(crate) const BYTES: u64 = 1 << 20;

/// The number of bytes, and of time steps, in one unit.
const UNIT: u64 = 1024;

/// A buffer with a half-open lifetime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// The first moment at which the buffer is live.
    pub(crate) lower: u64,
    /// The first moment at which the buffer is no longer live.
    pub(crate) upper: u64,
    /// The size in bytes.
    pub(crate) size: u64,
}

/// A random number generator (xorshift64*) that gives the same instances in every run.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next number, which is below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }
}

/// Left, bottom, width (time) and height (bytes) of a piece, in units.
type Cut = (u64, u64, u64, u64);

/// How a rectangle is cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Two of three cuts go through a whole piece. The third makes a pinwheel of five pieces, which straight cuts can't
    /// make.
    Mixed,
    /// All cuts go through whole pieces.
    Straight,
    /// Pinwheels are cut wherever they fit.
    Pinwheels,
    /// As `Mixed`, with every cut near the middle: the pieces have similar sizes.
    Even,
    /// As `Mixed`, with twice as many cuts across time: many short-lived buffers of many bytes.
    Tall,
    /// As `Mixed`, with twice as many cuts across bytes: many long-lived buffers of few bytes.
    Flat,
}

impl Shape {
    /// Every shape.
    pub(crate) const ALL: [Shape; 6] =
        [Shape::Mixed, Shape::Straight, Shape::Pinwheels, Shape::Even, Shape::Tall, Shape::Flat];

    /// Returns a position from 1 to `n` - 1 at which to cut.
    fn place(self, random: &mut Random, n: u64) -> u64 {
        match self {
            Shape::Even if n >= 4 => n / 4 + random.below(n / 2) + 1,
            _ => 1 + random.below(n - 1),
        }
    }
}

/// Cuts the rectangle into `count` pieces and returns them in random order.
pub(crate) fn cut(shape: Shape, count: usize, seed: u64) -> Vec<Piece> {
    let mut random = Random::new(seed);
    let mut pieces: Vec<Cut> = vec![(0, 0, BYTES / UNIT, BYTES / UNIT)];
    while pieces.len() < count {
        // Take the largest of three random pieces.
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
            // Draw two different cuts in each direction.
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

/// The numbers of pieces in the eleven instances of the benchmark.
pub(crate) const COUNTS: [usize; 11] = [154, 170, 203, 213, 215, 245, 276, 307, 343, 399, 454];
