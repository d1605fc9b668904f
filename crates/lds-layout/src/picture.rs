//! A layout on a grid, as text and pictures show it: columns are moments, rows are ranges of bytes.

use super::LdsLayout;

/// A layout on a grid.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The columns in order of time. An inserted barrier is a column before that of its position.
    pub columns: Vec<Column>,
    /// The bytes at which a buffer begins or ends, in increasing order, with 0 and the total.
    pub bounds: Vec<u32>,
    /// One box for each buffer.
    pub boxes: Vec<Cell>,
}

/// A moment: a position, or an inserted barrier right before a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The position in the program.
    pub position: u64,
    /// What happens at that moment.
    pub mark: Mark,
}

/// What happens in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A barrier that the layout inserts.
    Inserted,
    /// A barrier of the kernel; `true` if it counts.
    Barrier(bool),
    /// Buffers are read or written.
    Access,
}

/// The box of a buffer in the grid.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The index in [`LdsLayout::buffers`].
    pub buffer: usize,
    /// The first and the last column.
    pub columns: (usize, usize),
    /// The indices in [`Grid::bounds`] of the buffer's begin and end.
    pub bounds: (usize, usize),
}

impl Grid {
    /// Puts a layout on a grid.
    pub fn new(layout: &LdsLayout) -> Grid {
        let inserted = layout.inserted.iter().map(|b| Column { position: b.before, mark: Mark::Inserted });
        let own = layout.barriers.iter().map(|b| Column { position: b.0, mark: Mark::Barrier(b.1) });
        let access = |position| Column { position, mark: Mark::Access };
        let ends = layout.buffers.iter().flat_map(|buffer| [access(buffer.live.0), access(buffer.live.1)]);
        let mut columns: Vec<Column> = inserted.chain(own).chain(ends).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut bounds: Vec<u32> = layout
            .buffers
            .iter()
            .flat_map(|buffer| [buffer.offset, buffer.offset.saturating_add(buffer.size)])
            .collect();
        bounds.push(0);
        bounds.sort_unstable();
        bounds.dedup();
        let column = |position| columns.partition_point(|&c| c < access(position));
        let bound = |bytes: u32| bounds.partition_point(|&b| b < bytes);
        let boxes = layout
            .buffers
            .iter()
            .enumerate()
            .map(|(buffer, its)| Cell {
                buffer,
                columns: (column(its.live.0), column(its.live.1)),
                bounds: (bound(its.offset), bound(its.offset.saturating_add(its.size))),
            })
            .collect();
        Grid { columns, bounds, boxes }
    }

    /// Returns one line that says how many bytes and barriers the layout needs.
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
