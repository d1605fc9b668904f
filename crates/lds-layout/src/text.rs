//! A layout as a text picture.

use super::LdsLayout;
use super::picture::{Grid, Mark};

/// The largest width in characters.
const WIDTH: usize = 96;
/// The largest width of a column in characters.
const COLUMN: usize = 6;

impl LdsLayout {
    /// Draws the layout as text: time from left to right, bytes from bottom to top. A box is a buffer, `|` a barrier of
    /// the kernel (`:` if it does not count), `!` an inserted one. Below are the positions, and what each inserted
    /// barrier separates and saves.
    ///
    /// ```text
    /// 24 bytes of dynamic LDS (the least with these barriers), 1 barrier inserted
    /// 24 |             !     [B---------]
    /// 20 | [A---------]!     [----------]
    ///  0 +-------------------------------
    ///      1     2     !     5     6
    /// ! barrier before 5: saves 28 bytes; separates `A` and `B`
    /// ```
    pub fn to_text(&self) -> String {
        let grid = Grid::new(self);
        let columns = grid.columns.len().max(1);
        let width = (columns * COLUMN).min(WIDTH);
        let x = |column: usize| column * width / columns;
        let digits = self.total().to_string().len();
        let mut text = Grid::headline(self);
        text.push('\n');
        for (low, high) in (0..grid.bounds.len().saturating_sub(1)).map(|low| (low, low + 1)).rev() {
            let mut line = vec![' '; width];
            for (column, its) in grid.columns.iter().enumerate() {
                let mark = match its.mark {
                    Mark::Inserted => '!',
                    Mark::Barrier(true) => '|',
                    Mark::Barrier(false) => ':',
                    Mark::Access => continue,
                };
                line[x(column).min(width - 1)] = mark;
            }
            for cell in grid.boxes.iter().filter(|cell| cell.bounds.0 <= low && high <= cell.bounds.1) {
                let from = x(cell.columns.0).min(width - 1);
                let to = x(cell.columns.1 + 1).clamp(from + 1, width);
                let place = &mut line[from..to];
                place.fill('-');
                // The name is in the topmost band of the box.
                if high == cell.bounds.1 {
                    let inner = if place.len() > 2 { 1..place.len() - 1 } else { 0..place.len() };
                    let name = self.buffers.get(cell.buffer).map_or("", |buffer| &buffer.name);
                    place[inner].iter_mut().zip(name.chars()).for_each(|(c, n)| *c = n);
                }
                if let [first, .., last] = place
                    && to - from > 2
                {
                    (*first, *last) = ('[', ']');
                }
            }
            let line: String = line.into_iter().collect();
            let bound = grid.bounds.get(high).copied().unwrap_or(0);
            text.push_str(format!("{bound:>digits$} | {line}").trim_end());
            text.push('\n');
        }
        text.push_str(&format!("{:>digits$} +{}\n", 0, "-".repeat(width + 1)));
        let mut axis = String::new();
        for (column, its) in grid.columns.iter().enumerate() {
            let label = match its.mark {
                Mark::Inserted => "!".to_string(),
                _ => its.position.to_string(),
            };
            // A position is left out if its label would overlap the previous one.
            if axis.len() <= x(column) {
                axis.push_str(&" ".repeat(x(column) - axis.len()));
                axis.push_str(&label);
                axis.push(' ');
            }
        }
        text.push_str(format!("{:digits$}   {axis}", "").trim_end());
        text.push('\n');
        for barrier in &self.inserted {
            text.push_str(&format!("! {barrier}\n"));
        }
        text
    }
}
