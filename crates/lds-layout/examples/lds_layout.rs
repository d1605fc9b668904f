//! Laying out the LDS of a kernel: a tiled matrix product with an epilogue, as a code generator sees it. End to end its
//! buffers take 88 KiB, which no compute unit has. Reuse brings them to 48, and one barrier at the right place to 32, so
//! that a compute unit holds two workgroups.

use lds_layout::{LdsBuilder, LdsCapacity, LdsError, LdsUse, Uniformity};

/// Positions are the statements' numbers. The loop over tiles is the same for all work-items and runs at least once.
pub(crate) fn kernel() -> Result<LdsUse, LdsError> {
    let mut kernel = LdsBuilder::new(0..=100)?;
    let a = kernel.buffer("a tile", 16 << 10)?;
    let b = kernel.buffer("b tile", 16 << 10)?;
    let sums = kernel.buffer("row sums", 8 << 10)?;
    let out = kernel.buffer("out tile", 24 << 10)?;
    let transposed = kernel.alias("transposed", "out tile")?;
    let stats = kernel.buffer("statistics", 24 << 10)?;
    kernel.begin_loop(10, Uniformity::UniformTaken)?;
    kernel.write(a, 11)?;
    kernel.write(b, 12)?;
    kernel.barrier(13)?; // the tiles are there
    kernel.read(a, 14)?;
    kernel.read(b, 14)?;
    kernel.barrier(15)?; // the next pass may overwrite them
    kernel.end_loop(20)?;
    kernel.write(sums, 31)?;
    kernel.barrier(32)?;
    kernel.read(sums, 33)?;
    kernel.write(out, 34)?;
    kernel.barrier(35)?;
    kernel.read(transposed, 36)?;
    kernel.write(stats, 40)?;
    kernel.barrier(41)?;
    kernel.read(stats, 42)?;
    kernel.build()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (kernel, lds) = (kernel()?, LdsCapacity::GFX90A); // also that of gfx942
    let before = kernel.layout()?;
    println!("As generated, workgroups on a compute unit: {}\n", lds.workgroups(before.total().into()));
    println!("{}", before.to_text());
    let wanted = lds.workgroups(kernel.least_bytes()?);
    let after = kernel.layout_for_occupancy(lds, wanted, 0)?;
    println!("With the fewest barriers more: {wanted}\n");
    println!("{}", after.to_text());
    for buffer in after.buffers() {
        println!(
            "#define {:<10} (lds + {:>5}) /* {} bytes */",
            buffer.name.replace(' ', "_"),
            buffer.offset,
            buffer.size
        );
    }
    let verdict = after.verdict();
    println!("\nchecked: {} pairs share bytes, {} steps walked", verdict.sharing, verdict.walked);
    // LdsStatement would do is said where nothing does.
    if let Err(error) = kernel.layout_for_occupancy(lds, wanted + 1, 0) {
        println!("{error}");
    }
    assert_eq!(after.offset_of("transposed"), after.offset_of("out tile"));
    assert_eq!((before.total(), after.total(), after.inserted().len()), (48 << 10, 32 << 10, 1));
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
