//! Shape and strides of elements in a buffer.

use smallvec::SmallVec;

use crate::error::{Error, Result};

/// The extent of each axis, outermost first.
pub(crate) type Shape = SmallVec<[usize; 4]>;
/// The distance in elements from one index of each axis to the next.
pub(crate) type Strides = SmallVec<[isize; 4]>;

/// Selects elements of a buffer and their order. Element `i, j, ...` is at
/// `offset + i * strides[0] + j * strides[1] ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    offset: usize,
    shape: Shape,
    strides: Strides,
    /// The number of elements of the shape, and their range of indices: computed once, because every launch reads them.
    len: usize,
    range: Option<(usize, usize)>,
}

/// Returns the number of elements of a shape.
///
/// # Errors
/// Returns [`Error::Invalid`] if there are more than can be addressed.
pub fn elements(shape: &[usize]) -> Result<usize> {
    let product = |sum: usize, &n: &usize| sum.checked_mul(n);
    // A 0 makes the product 0, even where the other factors overflow.
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, product)
        .ok_or_else(|| Error::invalid("shape", format!("{shape:?} has more elements than can be addressed")))
}

/// Returns the strides of row-major order without gaps.
fn row_major(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, shape.len());
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1].saturating_mul(shape[axis + 1].max(1) as isize);
    }
    strides
}

/// Returns what [`Layout::range`] does.
fn range(offset: usize, shape: &[usize], strides: &[isize]) -> Option<(usize, usize)> {
    if shape.contains(&0) {
        return None;
    }
    let (mut low, mut high) = (offset as i128, offset as i128);
    for (&n, &stride) in shape.iter().zip(strides) {
        let span = (n as i128 - 1) * stride as i128;
        if span < 0 { low += span } else { high += span }
    }
    Some((usize::try_from(low).ok()?, usize::try_from(high + 1).ok()?))
}

impl Layout {
    fn new(offset: usize, shape: Shape, strides: Strides) -> Result<Layout> {
        let (len, range) = (elements(&shape)?, range(offset, &shape, &strides));
        Ok(Layout { offset, shape, strides, len, range })
    }

    /// Creates a layout in row-major order without gaps, from element `offset` on.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] for more elements than can be addressed.
    pub fn contiguous(offset: usize, shape: &[usize]) -> Result<Layout> {
        Layout::new(offset, shape.into(), row_major(shape))
    }

    /// Creates a layout with any strides. All its elements lie in a buffer of `len` elements.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if `shape` and `strides` differ in length, or an element is outside the buffer.
    pub fn strided(offset: usize, shape: &[usize], strides: &[isize], len: usize) -> Result<Layout> {
        if shape.len() != strides.len() {
            let problem = format!("{} extents and {} strides", shape.len(), strides.len());
            return Err(Error::invalid("layout", problem));
        }
        let layout = Layout::new(offset, shape.into(), strides.into())?;
        if !layout.is_empty() && layout.range().is_none_or(|(_, end)| end > len) {
            let problem = format!(
                "offset {offset}, shape {shape:?} and strides {strides:?} reach outside the buffer's {len} elements"
            );
            return Err(Error::invalid("layout", problem));
        }
        Ok(layout)
    }

    /// The index in the buffer of the element at index 0 of every axis.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The extents of the axes, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The strides of the axes, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements follow one another in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let expected = row_major(&self.shape);
        // The stride of an axis with one index is never used.
        self.is_empty() || (0..self.shape.len()).all(|i| self.shape[i] == 1 || self.strides[i] == expected[i])
    }

    /// The smallest index in the buffer and one past the largest, or `None` if there are no elements or an index can't be
    /// addressed.
    #[inline]
    pub fn range(&self) -> Option<(usize, usize)> {
        self.range
    }

    /// The index of every element in the buffer, in row-major order.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let mut index: Shape = SmallVec::from_elem(0, self.shape.len());
        let (mut left, mut at) = (self.len(), self.offset as isize);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let place = at as usize;
            left -= 1;
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                at += self.strides[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                at -= self.strides[axis] * self.shape[axis] as isize;
                index[axis] = 0;
            }
            Some(place)
        })
    }

    /// Returns this layout with its axes in the order of `axes`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] unless `axes` names each axis once.
    pub fn permuted(&self, axes: &[usize]) -> Result<Layout> {
        let once = |axis: usize| axes.iter().filter(|&&a| a == axis).count() == 1;
        if axes.len() != self.shape.len() || !(0..axes.len()).all(once) {
            let problem = format!("{axes:?} does not name each of {} axes once", self.shape.len());
            return Err(Error::invalid("layout", problem));
        }
        let shape = axes.iter().map(|&a| self.shape[a]).collect();
        let strides = axes.iter().map(|&a| self.strides[a]).collect();
        Layout::new(self.offset, shape, strides)
    }

    /// Returns the part of this layout with the indices `start..end` of one axis.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] for an axis or index that doesn't exist.
    pub fn sliced(&self, axis: usize, start: usize, end: usize) -> Result<Layout> {
        match self.shape.get(axis) {
            Some(&n) if start <= end && end <= n => {
                let mut shape = self.shape.clone();
                shape[axis] = end - start;
                let moved = (self.offset as isize + start as isize * self.strides[axis]) as usize;
                let offset = if shape.contains(&0) { self.offset } else { moved };
                Layout::new(offset, shape, self.strides.clone())
            }
            _ => {
                let problem = format!("indices {start}..{end} of axis {axis} of shape {:?}", self.shape);
                Err(Error::invalid("layout", problem))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_major_order() {
        let l = Layout::contiguous(3, &[2, 3, 4]).unwrap();
        assert_eq!((l.strides(), l.len(), l.range()), (&[12isize, 4, 1][..], 24, Some((3, 27))));
        assert!(l.is_contiguous());
        assert!(l.places().eq(3..27));
    }

    #[test]
    fn permuted_and_sliced() {
        let l = Layout::contiguous(0, &[2, 3]).unwrap();
        let t = l.permuted(&[1, 0]).unwrap();
        assert_eq!(t.places().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
        assert!(!t.is_contiguous());
        let s = t.sliced(0, 1, 3).unwrap();
        assert_eq!((s.places().collect::<Vec<_>>(), s.range()), (vec![1, 4, 2, 5], Some((1, 6))));
        assert!(l.permuted(&[0, 0]).is_err() && l.permuted(&[0]).is_err());
        assert!(l.sliced(0, 1, 3).is_err() && l.sliced(2, 0, 0).is_err() && l.sliced(0, 2, 1).is_err());
        assert!(l.sliced(0, 2, 2).unwrap().is_empty());
    }

    #[test]
    fn strides_stay_inside() {
        assert!(Layout::strided(5, &[3, 2], &[-2, 1], 7).is_ok());
        assert!(Layout::strided(3, &[3, 2], &[-2, 1], 7).is_err(), "before the first element");
        assert!(Layout::strided(5, &[3, 2], &[2, 1], 10).is_err(), "after the last element");
        assert!(Layout::strided(0, &[usize::MAX, 2], &[0, 0], 1).is_err(), "too many to count");
        assert!(Layout::strided(0, &[1000, 1000], &[0, 0], 1).is_ok(), "one element, broadcast");
        assert!(Layout::strided(0, &[2], &[isize::MAX], 10).is_err());
        assert!(Layout::strided(99, &[0], &[1], 1).is_ok(), "nothing lies anywhere");
        assert!(Layout::strided(0, &[2], &[1, 1], 10).is_err());
    }

    #[test]
    fn the_stride_of_an_axis_of_one_index_is_ignored() {
        assert!(Layout::strided(0, &[1, 4], &[99, 1], 4).unwrap().is_contiguous());
        assert!(!Layout::strided(0, &[4, 1], &[2, 1], 8).unwrap().is_contiguous());
    }
}
