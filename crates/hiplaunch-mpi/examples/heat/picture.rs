//! The field as a PNG, one pixel a cell.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::error::{Result, advice, of_file};
use crate::field::Field;

/// Colours from cold to hot, evenly spaced between 0 and the hottest cell; between them they are mixed.
const COLOURS: [[f64; 3]; 6] = [
    [8.0, 8.0, 32.0],
    [60.0, 15.0, 110.0],
    [160.0, 40.0, 100.0],
    [230.0, 95.0, 45.0],
    [252.0, 180.0, 30.0],
    [252.0, 255.0, 200.0],
];

/// Writes the picture of a field.
pub(crate) fn write(path: &Path, field: &Field) -> Result<()> {
    let hottest = field.cells.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let pixels: Vec<u8> = field.cells.iter().flat_map(|cell| colour(cell / hottest)).collect();
    let encode = || {
        let file = BufWriter::new(File::create(path)?);
        let mut encoder = png::Encoder::new(file, field.width as u32, field.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels)?;
        writer.finish()
    };
    let problem = |error| match error {
        png::EncodingError::IoError(error) => advice(error),
        other => other.to_string(),
    };
    encode().map_err(problem).map_err(of_file("writing the picture", path))
}

fn colour(heat: f64) -> [u8; 3] {
    let place = heat.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let (from, to, part) = (COLOURS[below], COLOURS[below + 1], place - below as f64);
    [0, 1, 2].map(|i| (from[i] + part * (to[i] - from[i])).round() as u8)
}
