//! The field as a PNG, one pixel a cell.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::error::{FileProblem, HeatError};

/// Colours from cold to hot, evenly spaced between 0 and the hottest cell; between them they are mixed.
const COLOURS: [[f64; 3]; 6] = [
    [8.0, 8.0, 32.0],
    [60.0, 15.0, 110.0],
    [160.0, 40.0, 100.0],
    [230.0, 95.0, 45.0],
    [252.0, 180.0, 30.0],
    [252.0, 255.0, 200.0],
];

/// Writes the picture of a field, row by row from the top.
///
/// # Errors
/// [`HeatError::File`] if the file can't be written.
pub(crate) fn write(rank: usize, path: &Path, width: usize, field: &[f64]) -> Result<(), HeatError> {
    let failed = |problem: FileProblem| problem.of(rank, "writing the picture", path);
    let file = File::create(path).map_err(|error| failed(FileProblem::io(error)))?;
    let encode = || {
        let mut encoder = png::Encoder::new(BufWriter::new(file), width as u32, (field.len() / width) as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels(field))?;
        writer.finish()
    };
    encode().map_err(|error| match error {
        png::EncodingError::IoError(error) => failed(FileProblem::io(error)),
        other => failed(FileProblem::Picture(other)),
    })
}

fn pixels(field: &[f64]) -> Vec<u8> {
    let hottest = field.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    field.iter().flat_map(|cell| colour(cell / hottest)).collect()
}

fn colour(heat: f64) -> [u8; 3] {
    let place = heat.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (place as usize).min(COLOURS.len() - 2);
    let (from, to, part) = (COLOURS[below], COLOURS[below + 1], place - below as f64);
    [0, 1, 2].map(|i| (from[i] + part * (to[i] - from[i])).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_back_with_cold_and_hot_where_they_are() {
        let path = std::env::temp_dir().join(format!("heat-{}.png", std::process::id()));
        write(0, &path, 3, &[0.0, 1.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(File::open(&path).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (3, 2));
        assert_eq!(bytes[..3], [8, 8, 32]);
        assert_eq!(bytes[3 * 5..], [252, 255, 200]);
        assert_ne!(bytes[3..6], bytes[..3]);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_full_disk_is_named() {
        let error = write(0, Path::new("/dev/full"), 100, &[1.0; 100_000]).unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("free some space"), "{error}");
    }
}
