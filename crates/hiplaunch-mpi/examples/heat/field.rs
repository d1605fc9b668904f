//! The field, and how it is divided: a grid of blocks, one for each rank, whose borders lie on tiles.
//!
//! Tiles of [`TILE`] times [`TILE`] cells are a property of the field, not of the ranks. A rank owns whole tiles, so a sum
//! of a tile is made by one rank, in an order that no number of ranks changes.

use crate::error::{HeatError, Result};

/// Cells along a tile's side.
pub(crate) const TILE: usize = 16;

/// The most cells along a side of the field: kernels count in i32.
pub(crate) const MAX_CELLS: usize = 1_000_000;

/// The cells of a field, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) cells: Vec<f64>,
}

impl Field {
    /// A hot and a warm disc in the cold.
    pub(crate) fn initial(width: usize, height: usize) -> Field {
        // The walls, which are cold, are half a cell's width outside: at 0 and 1.
        let place = |cell: usize, cells: usize| (cell + 1) as f64 / (cells + 1) as f64;
        let cell = |at: usize| {
            let (u, v) = (place(at % width, width), place(at / width, height));
            let inside = |x, y, radius| (u - x) * (u - x) + (v - y) * (v - y) < radius * radius;
            match () {
                () if inside(0.34, 0.38, 0.21) => 1.0,
                () if inside(0.71, 0.66, 0.13) => 0.6,
                () => 0.0,
            }
        };
        Field { width, height, cells: (0..width * height).map(cell).collect() }
    }

    /// The number by which two fields are compared to the bit: the sum, modulo 2^64, of a mixed word for each cell that
    /// depends on its place and its bits.
    pub(crate) fn checksum(&self) -> u64 {
        let word = |(place, cell): (u64, &f64)| mix(cell.to_bits() ^ mix(place));
        (1..).zip(&self.cells).map(word).fold(0, u64::wrapping_add)
    }

    /// The cells of a block, row by row.
    pub(crate) fn part(&self, block: &Block) -> Vec<f64> {
        let rows = self.cells.chunks_exact(self.width).skip(block.y).take(block.height);
        rows.flat_map(|row| &row[block.x..block.x + block.width]).copied().collect()
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
pub(crate) fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The size of the field in cells, and the grid of ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Domain {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Ranks side by side.
    pub(crate) across: usize,
    /// Ranks one above the other.
    pub(crate) down: usize,
}

/// The cells of a rank: the first one's place in the field, and at least one each way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Block {
    /// Elements of a row of the block's array, with the halo.
    pub(crate) fn pitch(&self) -> usize {
        self.width + 2
    }

    /// Cells of the block that read a halo.
    pub(crate) fn border_cells(&self) -> usize {
        match (self.width, self.height) {
            (1, n) | (n, 1) => n,
            (w, h) => 2 * w + 2 * (h - 2),
        }
    }

    /// Tiles along x and y.
    pub(crate) fn tiles(&self) -> [usize; 2] {
        [self.width.div_ceil(TILE), self.height.div_ceil(TILE)]
    }
}

/// A side of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    West,
    East,
    North,
    South,
}

impl Side {
    /// Opposite sides are pairs: the number of one differs from the other's in the lowest bit.
    pub(crate) const ALL: [Side; 4] = [Side::West, Side::East, Side::North, Side::South];

    pub(crate) fn opposite(self) -> Side {
        Side::ALL[self as usize ^ 1]
    }
}

impl Domain {
    /// Divides a field among the ranks so that the least is exchanged. Every rank must get a tile.
    pub(crate) fn new(width: usize, height: usize, ranks: usize) -> Result<Domain> {
        let tiles = [width.div_ceil(TILE), height.div_ceil(TILE)];
        (1..=ranks)
            .filter(|across| ranks.is_multiple_of(*across))
            .map(|across| Domain { width, height, across, down: ranks / across })
            .filter(|domain| domain.across <= tiles[0] && domain.down <= tiles[1])
            .min_by_key(|domain| domain.across * height + domain.down * width)
            .ok_or(HeatError::TooManyRanks { width, height, ranks })
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.across * self.down
    }

    /// The cells of a rank.
    pub(crate) fn block(&self, rank: usize) -> Block {
        let (x, width) = part(self.width, self.across, rank % self.across);
        let (y, height) = part(self.height, self.down, rank / self.across);
        Block { x, y, width, height }
    }

    /// The rank on the other side of a border, or `None` at the field's own border.
    pub(crate) fn neighbour(&self, rank: usize, side: Side) -> Option<usize> {
        let (column, row) = (rank % self.across, rank / self.across);
        match side {
            Side::West => (column > 0).then(|| rank - 1),
            Side::East => (column + 1 < self.across).then_some(rank + 1),
            Side::North => (row > 0).then(|| rank - self.across),
            Side::South => (row + 1 < self.down).then_some(rank + self.across),
        }
    }

    /// Puts the cells of all ranks, in the order of the ranks, into one field.
    pub(crate) fn assemble(&self, blocks: &[Vec<f64>]) -> Field {
        let mut cells = vec![0.0; self.width * self.height];
        for (rank, part) in blocks.iter().enumerate() {
            let block = self.block(rank);
            for (y, row) in part.chunks_exact(block.width).enumerate() {
                cells[(block.y + y) * self.width + block.x..][..block.width].copy_from_slice(row);
            }
        }
        Field { width: self.width, height: self.height, cells }
    }
}

/// The first cell and the number of cells of part `index` of `parts`, in whole tiles.
fn part(cells: usize, parts: usize, index: usize) -> (usize, usize) {
    let start = |index: usize| (cells.div_ceil(TILE) * index / parts * TILE).min(cells);
    (start(index), start(index + 1) - start(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_each_cell_once() {
        for (width, height, ranks) in [(64, 64, 1), (100, 37, 2), (129, 65, 4), (200, 136, 8), (33, 200, 7)] {
            let (field, domain) = (Field::initial(width, height), Domain::new(width, height, ranks).unwrap());
            let blocks: Vec<_> = (0..ranks).map(|rank| field.part(&domain.block(rank))).collect();
            assert_eq!(blocks.iter().map(Vec::len).sum::<usize>(), width * height);
            assert_eq!(domain.assemble(&blocks), field, "{width}x{height} over {ranks}");
        }
        assert!(Domain::new(16, 16, 4).is_err());
    }
}
