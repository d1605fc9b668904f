//! A layout on a grid, as text and pictures show it: columns are moments, bands are bytes.

use super::LdsLayout;

/// A layout on a grid.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Positions in order; an inserted barrier stands before one.
    pub columns: Vec<Column>,
    /// Where buffers begin and end in bytes, the lowest first, with 0 and the total.
    pub bounds: Vec<u32>,
    /// A box for each buffer.
    pub boxes: Vec<Cell>,
}

/// A moment: a position, or an inserted barrier right before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The position in the program.
    pub position: u64,
    /// What happens there.
    pub mark: Mark,
}

/// What happens in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A barrier that the layout inserts.
    Inserted,
    /// A barrier of the kernel, and whether it counts.
    Barrier(bool),
    /// Buffers are read or written.
    Access,
}

/// The box of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The index in [`LdsLayout::slots`].
    pub slot: usize,
    /// The first and the last column.
    pub columns: (usize, usize),
    /// The indices in [`Grid::bounds`] of where it begins and ends.
    pub bounds: (usize, usize),
}

impl Grid {
    /// Puts a layout on a grid.
    pub fn new(layout: &LdsLayout) -> Grid {
        let inserted = layout.inserted.iter().map(|b| Column { position: b.before, mark: Mark::Inserted });
        let own = layout.barriers.iter().map(|b| Column { position: b.0, mark: Mark::Barrier(b.1) });
        let access = |position| Column { position, mark: Mark::Access };
        let ends = layout.slots.iter().flat_map(|slot| [access(slot.live.0), access(slot.live.1)]);
        let mut columns: Vec<Column> = inserted.chain(own).chain(ends).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut bounds: Vec<u32> = layout
            .slots
            .iter()
            .flat_map(|slot| [slot.offset, slot.offset.saturating_add(slot.size)])
            .collect();
        bounds.push(0);
        bounds.sort_unstable();
        bounds.dedup();
        let column = |position| columns.partition_point(|&c| c < access(position));
        let bound = |bytes: u32| bounds.partition_point(|&b| b < bytes);
        let boxes = layout
            .slots
            .iter()
            .enumerate()
            .map(|(slot, its)| Cell {
                slot,
                columns: (column(its.live.0), column(its.live.1)),
                bounds: (bound(its.offset), bound(its.offset.saturating_add(its.size))),
            })
            .collect();
        Grid { columns, bounds, boxes }
    }

    /// One line on what the layout needs.
    pub fn headline(layout: &LdsLayout) -> String {
        let barriers = match layout.inserted.len() {
            0 => "no barrier inserted".to_string(),
            1 => "1 barrier inserted".to_string(),
            n => format!("{n} barriers inserted"),
        };
        let least = if layout.is_least() { "the least" } else { "not proved to be the least" };
        format!("{} bytes of dynamic LDS ({least} with these barriers), {barriers}", layout.total())
    }
}
