//! The faces of cubes, and how they meet at their edges.

/// The number of faces.
pub(crate) const FACES: u32 = 6;

/// The direction of a place on a face, of which x and y count from the face's middle, and `depth` from the cube's (the definitions of
/// `v_cubesc_f32` and `v_cubetc_f32`, which are Direct3D's and OpenGL's).
fn direction(face: u32, [x, y]: [i64; 2], depth: i64) -> [i64; 3] {
    match face {
        0 => [depth, -y, -x],
        1 => [-depth, -y, x],
        2 => [x, depth, y],
        3 => [x, -depth, -y],
        4 => [x, -y, depth],
        _ => [-x, -y, -depth],
    }
}

/// Returns the face and the place on it in a direction, whose largest component is that of the face.
fn place(direction: [i64; 3]) -> (u32, [i64; 2]) {
    let [x, y, z] = direction;
    let largest = x.abs().max(y.abs()).max(z.abs());
    match (x.abs() == largest, y.abs() == largest) {
        (true, _) if x > 0 => (0, [-z, -y]),
        (true, _) => (1, [z, -y]),
        (_, true) if y > 0 => (2, [x, z]),
        (_, true) => (3, [x, -z]),
        _ if z > 0 => (4, [x, -y]),
        _ => (5, [-x, -y]),
    }
}

/// Returns the face and the texel on it of a texel that may be one beyond an edge of a face with `size` texels in each direction. It
/// then is the texel at the edge of the other face. Beyond a corner it is that on the other side of one edge.
pub(crate) fn across(face: u32, at: [i64; 2], size: u32) -> (u32, [u32; 2]) {
    let size = i64::from(size);
    let [x, y] = at.map(|at| at.clamp(-1, size));
    let is_inside = |at: i64| (0..size).contains(&at);
    // Beyond a corner, the row is that of the face.
    let y = if is_inside(x) { y } else { y.clamp(0, size - 1) };
    if is_inside(x) && is_inside(y) {
        return (face, [x as u32, y as u32]);
    }
    // Twice the distances, so that the middles of texels are integers.
    let [from_x, from_y] = [x, y].map(|at| 2 * at + 1 - size);
    // The place beyond the edge by half a texel is folded onto the other face, where it is behind the edge by as much.
    let fold = |from: i64| from.clamp(-size, size);
    let (other, [to_x, to_y]) = place(direction(face, [fold(from_x), fold(from_y)], size - 1));
    let texel = |to: i64| ((to + size - 1) / 2).clamp(0, size - 1) as u32;
    (other, [texel(to_x), texel(to_y)])
}
