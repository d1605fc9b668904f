//! How the field is divided: a grid of blocks, one for each rank, whose borders lie on tiles.
//!
//! Tiles of [`TILE`] times [`TILE`] cells are a property of the field, not of the ranks. A rank owns whole tiles, so a sum
//! of a tile is made by one rank, in an order that no number of ranks changes.

use crate::error::{HeatError, Result};

/// Cells along a tile's side.
pub(crate) const TILE: usize = 16;

/// The most cells along a side of the field: kernels count in i32.
pub(crate) const MOST_CELLS: usize = 1_000_000;

/// The field in cells, and the grid of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Domain {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Ranks side by side.
    pub(crate) across: usize,
    /// Ranks one above the other.
    pub(crate) down: usize,
}

/// The cells of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first cell's place in the field.
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// At least 1.
    pub(crate) width: usize,
    /// At least 1.
    pub(crate) height: usize,
}

/// A side of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    West,
    East,
    North,
    South,
}

impl Side {
    pub(crate) const ALL: [Side; 4] = [Side::West, Side::East, Side::North, Side::South];
}

impl Block {
    /// Elements of a row of the block's array, with the halo.
    pub(crate) fn pitch(&self) -> usize {
        self.width + 2
    }

    /// Elements of the block's array, with the halo.
    pub(crate) fn padded(&self) -> usize {
        self.pitch() * (self.height + 2)
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

impl Domain {
    /// Divides a field among the ranks so that the least is exchanged.
    ///
    /// # Errors
    /// [`HeatError::TooManyRanks`] if the ranks can't have a tile each in any grid of ranks.
    pub(crate) fn new(width: usize, height: usize, ranks: usize) -> Result<Domain> {
        let tiles = [width.div_ceil(TILE), height.div_ceil(TILE)];
        (1..=ranks)
            .filter(|across| ranks.is_multiple_of(*across))
            .map(|across| Domain { width, height, across, down: ranks / across })
            .filter(|domain| domain.across <= tiles[0] && domain.down <= tiles[1])
            .min_by_key(|domain| domain.across * height + domain.down * width)
            .ok_or(HeatError::TooManyRanks { width, height, ranks, tile: TILE })
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

    /// Puts the cells of all ranks, in the order of the ranks, into one field, row by row.
    pub(crate) fn assemble(&self, blocks: &[Vec<f64>]) -> Vec<f64> {
        let mut field = vec![0.0; self.width * self.height];
        for (rank, cells) in blocks.iter().enumerate() {
            let block = self.block(rank);
            for (y, row) in cells.chunks_exact(block.width).enumerate() {
                field[(block.y + y) * self.width + block.x..][..block.width].copy_from_slice(row);
            }
        }
        field
    }
}

/// The first cell and the number of cells of part `index` of `parts`, in whole tiles.
fn part(cells: usize, parts: usize, index: usize) -> (usize, usize) {
    let tiles = cells.div_ceil(TILE);
    let start = |index: usize| (tiles * index / parts * TILE).min(cells);
    (start(index), start(index + 1) - start(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_each_cell_once_and_neighbours_touch() {
        for (width, height, ranks) in [(64, 64, 1), (100, 37, 2), (129, 65, 4), (200, 136, 8), (33, 200, 7)] {
            let domain = Domain::new(width, height, ranks).unwrap();
            let mut owners = vec![0; width * height];
            for rank in 0..ranks {
                let block = domain.block(rank);
                assert!(block.width > 0 && block.height > 0);
                for y in block.y..block.y + block.height {
                    owners[y * width + block.x..][..block.width].iter_mut().for_each(|n| *n += 1);
                }
                if let Some(east) = domain.neighbour(rank, Side::East) {
                    let other = domain.block(east);
                    assert_eq!(
                        (other.x, other.y, other.height),
                        (block.x + block.width, block.y, block.height)
                    );
                    assert_eq!(domain.neighbour(east, Side::West), Some(rank));
                }
                if let Some(south) = domain.neighbour(rank, Side::South) {
                    let other = domain.block(south);
                    assert_eq!(
                        (other.x, other.y, other.width),
                        (block.x, block.y + block.height, block.width)
                    );
                    assert_eq!(domain.neighbour(south, Side::North), Some(rank));
                }
            }
            assert!(owners.iter().all(|&n| n == 1), "{width}x{height} over {ranks}");
        }
    }

    #[test]
    fn a_field_of_fewer_tiles_than_ranks_is_refused() {
        let error = Domain::new(16, 16, 4).unwrap_err().to_string();
        assert!(error.contains("16x16") && error.contains("4 ranks"), "{error}");
    }
}
