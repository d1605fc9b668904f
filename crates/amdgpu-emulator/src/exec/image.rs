//! MIMG: loads, stores and atomics of texels without a sampler (RDNA3 ISA, 10.1, 10.2, 10.4; Vega ISA, "Vector memory image
//! instructions").

use std::marker::PhantomData;

use amdgpu_isa::{Generation, Mimg, Mnemonic, SampleForm, SampleKind, Target, fields};

use crate::exec::access::global_fault;
use crate::exec::atomics::{Bits, Rmw, buffer_rmw};
use crate::exec::buffer::{load_part, store_part};
use crate::exec::buffer_format::Format;
use crate::exec::descriptor::FormatNumber;
use crate::exec::image_descriptor::{Image, kind};
use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors, flag};
use crate::exec::notices::Who;
use crate::memory::Wide;
use crate::report::access::AccessKind;
use crate::report::fault::FaultCause;
use crate::state::bytes::Bytes;
use crate::state::wave::{LANES, Wave, lanes_of};

/// The number of coordinates of each dimension without samples (table in 10.2).
const COORDINATES: [usize; 6] = [1, 2, 3, 3, 2, 3];
const ONE_ARRAY: u32 = 4;

/// Returns whose descriptors an instruction takes.
pub(crate) fn generation(i: &Inst) -> Generation {
    flag::generation(i.flags)
}

pub(crate) fn is_gfx9(i: &Inst) -> bool {
    generation(i) == Generation::Gfx9
}

pub(crate) fn fields_of(i: &Inst) -> fields::Mimg {
    // Targets of a generation have the same fields.
    let target = match generation(i) {
        Generation::Gfx9 => Target::Gfx90a,
        Generation::Gfx10 => Target::Gfx103,
        Generation::Gfx11 => Target::Gfx11,
        Generation::Gfx12 => Target::Gfx12,
    };
    let long = i.raw.iter().rev().fold(0, |long, dword| long << 32 | u128::from(*dword));
    fields::Mimg::read(target, long)
}

/// Returns whether the last component of the address is a level.
fn has_level(i: &Inst) -> bool {
    use Mimg::*;
    let Mnemonic::Mimg(op) = i.row.mnemonic else { return false };
    matches!(
        op,
        image_load_mip
            | image_load_mip_pck
            | image_load_mip_pck_sgn
            | image_store_mip
            | image_store_mip_pck
            | image_get_resinfo
    )
}

/// Returns whether components are moved without conversion, and then whether their sign is extended.
fn unconverted(i: &Inst) -> Option<bool> {
    use Mimg::*;
    let Mnemonic::Mimg(op) = i.row.mnemonic else { return None };
    match op {
        image_load_pck_sgn | image_load_mip_pck_sgn => Some(true),
        image_load_pck | image_load_mip_pck | image_store_pck | image_store_mip_pck => Some(false),
        _ => None,
    }
}

fn is_info(i: &Inst) -> bool {
    i.row.mnemonic == Mnemonic::Mimg(Mimg::image_get_resinfo)
}

/// The dimension of an access.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// As the field `dim` of RDNA numbers it.
    pub(crate) dim: u32,
    /// The number of coordinates. A further one than the dimension has is not used.
    pub(crate) coordinates: usize,
}

impl Shape {
    /// Returns the dimension of an instruction on an image: that which RDNA's instructions have, or the image's, whose layers gfx9's
    /// address only with `da`.
    ///
    /// # Errors
    /// What is not modelled.
    pub(crate) fn of(i: &Inst, f: &fields::Mimg, image: &Image) -> Result<Shape, String> {
        let dim = image.kind - kind::ONE;
        if !is_gfx9(i) {
            return match dim == f.dim || is_info(i) {
                true => Ok(Shape { dim, coordinates: COORDINATES[dim as usize] }),
                _ => Err(format!("an image of type {} in an instruction for another one", image.kind)),
            };
        }
        match (image.kind, f.da) {
            (kind::CUBE, true) | (kind::THREE, false) => Ok(Shape { dim, coordinates: 3 }),
            (kind::ONE_ARRAY, false) => Ok(Shape { dim: 0, coordinates: 1 }),
            (kind::TWO_ARRAY, false) => Ok(Shape { dim: 1, coordinates: 2 }),
            (kind::ONE | kind::ONE_ARRAY, _) => Ok(Shape { dim, coordinates: 1 + usize::from(f.da) }),
            (kind::TWO | kind::TWO_ARRAY, _) => Ok(Shape { dim, coordinates: 2 + usize::from(f.da) }),
            (kind, da) => Err(format!("images of type {kind} with da {}", u8::from(da))),
        }
    }
}

/// Returns the registers of the address: see [`Address`].
///
/// On gfx9 the image's descriptor decides how many there are. Those that every image of the instruction needs are returned.
pub(crate) fn address_registers(i: &Inst, f: &fields::Mimg) -> impl Iterator<Item = u16> {
    let coordinates = match COORDINATES.get(f.dim as usize) {
        _ if is_info(i) => 0,
        _ if is_gfx9(i) => 1 + usize::from(f.da),
        count => count.map_or(0, |count| *count),
    };
    let count = match SampleForm::of(i.row) {
        Some(form) if !is_gfx9(i) => form.registers(f.dim, f.a16) as usize,
        _ => {
            let count = coordinates + usize::from(has_level(i));
            if f.a16 { count.div_ceil(2) } else { count }
        }
    };
    let address = Address::of(i, f);
    (0..count).map(move |n| address.register(n))
}

/// The registers of an address: the first ones, of which those after the last one follow it. On gfx9 that is one register; on gfx10 and gfx11
/// further dwords can name others (RDNA3 ISA, 10.1.5), and on gfx12 the instruction always names four or five.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    named: [u8; 13],
    count: usize,
}

impl Address {
    pub(crate) fn of(i: &Inst, f: &fields::Mimg) -> Address {
        let mut address = Address { named: [0; 13], count: 1 };
        address.named[0] = f.vaddr as u8;
        if generation(i) == Generation::Gfx12 {
            address.count = if f.is_vsample { 4 } else { 5 };
            for (to, from) in address.named.iter_mut().zip(f.vaddrs()) {
                *to = from as u8;
            }
        } else {
            address.count += 4 * f.nsa_dwords as usize;
            let dwords = [i.raw[2], i.imm, i.target];
            for (to, from) in address.named[1..].iter_mut().zip(dwords.into_iter().flat_map(u32::to_le_bytes))
            {
                *to = from;
            }
        }
        address
    }

    pub(crate) fn register(&self, n: usize) -> u16 {
        let last = self.count - 1;
        u16::from(self.named[n.min(last)]) + n.saturating_sub(last) as u16
    }
}

/// Returns the number of registers of data.
pub(crate) fn data_registers(i: &Inst, f: &fields::Mimg) -> u16 {
    let gathers = SampleForm::of(i.row).is_some_and(|form| form.kind == SampleKind::Gather);
    let components = if gathers { 4 } else { f.dmask.count_ones().max(1) as u16 };
    if f.d16 { components.div_ceil(2) } else { components }
}

/// Returns the image of an instruction; `None` if none is bound.
///
/// # Errors
/// What is not modelled.
pub(crate) fn image_of(w: &Wave, i: &Inst, f: &fields::Mimg) -> Result<Option<Image>, String> {
    if f.tfe || f.lwe {
        return Err("image instructions that return a status (tfe, lwe)".into());
    }
    let words = std::array::from_fn(|n| if n < 4 || !f.r128 { w.s32(i.src[2] + n as u16) } else { 0 });
    Image::of(words, f.r128, generation(i))
}

/// The texels that the lanes of an instruction access.
pub(crate) struct Texels {
    pub(crate) format: Format,
    /// The addresses of the lanes in `inside`.
    pub(crate) at: Wide,
    /// The active lanes whose coordinates are those of a texel.
    pub(crate) inside: u64,
}

impl Texels {
    /// # Errors
    /// What is not modelled.
    pub(crate) fn of(w: &Wave, i: &Inst) -> Result<Texels, String> {
        let f = fields_of(i);
        let mut texels = Texels { format: nothing(i), at: Wide([0; LANES]), inside: 0 };
        let Some(image) = image_of(w, i, &f)? else { return Ok(texels) };
        let shape = Shape::of(i, &f, &image)?;
        texels.format = match unconverted(i) {
            Some(signed) => image.format().unconverted(signed),
            None => image.format(),
        };
        if image.is_srgb() && i.row.access() != Some(amdgpu_isa::MemoryAccess::Load) {
            return Err("stores and atomics of images of sRGB".into());
        }
        // No component is asked for, and no memory is read (table 48, DMASK).
        if f.dmask == 0 {
            return Ok(texels);
        }
        let mut values = [[0; 4]; LANES];
        addresses(w, i, &f, shape.coordinates, &mut values);
        let mut view = (0, image.view(0));
        for lane in lanes_of(w.exec()) {
            let [x, y, slice, _] = values[lane];
            let level = if has_level(i) { values[lane][shape.coordinates] } else { 0 };
            if level != view.0 {
                view = (level, image.view(level));
            }
            let Some(view) = &view.1 else { continue };
            let address = match shape.dim {
                ONE_ARRAY => view.address(x, 0, y),
                dim => {
                    let count = COORDINATES[dim as usize];
                    let or = |n: usize, value| if n < count { value } else { 0 };
                    view.address(x, or(1, y), or(2, slice))
                }
            };
            if let Some(address) = address {
                texels.at.0[lane] = address;
                texels.inside |= 1 << lane;
            }
        }
        Ok(texels)
    }
}

/// Returns the format of no image.
pub(crate) fn nothing(i: &Inst) -> Format {
    Format::new(FormatNumber::Unified(0), [0; 4], generation(i))
}

/// Reads the coordinates of each lane's address and the level after them: unsigned integers, with `a16` two in a register (10.1.3).
fn addresses(w: &Wave, i: &Inst, f: &fields::Mimg, coordinates: usize, values: &mut [[u32; 4]; LANES]) {
    let count = coordinates + usize::from(has_level(i));
    let address = Address::of(i, f);
    for n in 0..count {
        let (register, shift) = if f.a16 { (n / 2, 16 * (n % 2)) } else { (n, 0) };
        let mask = if f.a16 { 0xffff } else { u32::MAX };
        for (values, dword) in values.iter_mut().zip(w.v(address.register(register)).flat()) {
            values[n] = dword >> shift & mask;
        }
    }
}

/// Faults because something is not modelled.
#[cold]
pub(crate) fn unmodelled(cx: &mut ExecContext, detail: impl Into<String>) -> Flow {
    cx.fault(FaultCause::Unimplemented { detail: detail.into() })
}

/// Writes those of four values that `dmask` selects to a lane's registers.
pub(crate) fn write(
    format: &Format,
    w: &mut Wave,
    i: &Inst,
    f: &fields::Mimg,
    lane: usize,
    values: [u32; 4],
) {
    let mut chosen = [0; 4];
    let mut count = 0;
    for value in (0..4).filter(|n| f.dmask >> n & 1 != 0).map(|n| values[n]) {
        chosen[count] = value;
        count += 1;
    }
    // Without components, one register gets 0 (table 48, DMASK).
    format.to_registers(w, i.dst, lane, &chosen[..count.max(1)], if f.d16 { 2 } else { 1 }, false);
}

executors! {
    /// `image_load*`.
    ImageLoad |w, cx, i| {
        load(w, cx, i)
    }
    /// `image_store*`.
    ImageStore |w, cx, i| {
        store(w, cx, i)
    }
    /// `image_get_resinfo`.
    ImageInfo |w, cx, i| {
        info(w, cx, i)
    }
}

#[inline(never)]
fn load(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let f = fields_of(i);
    let Texels { format, at, inside } = match Texels::of(w, i) {
        Ok(texels) => texels,
        Err(detail) => return unmodelled(cx, detail),
    };
    let (size, unit) = (format.size(), format.unit());
    let mut values = [format.outside; LANES];
    for lane in lanes_of(inside) {
        let mut words = [0; 4];
        for (extra, word) in (0..size).step_by(4).zip(&mut words) {
            let address = at.0[lane] + u64::from(extra);
            let Some(value) = load_part(cx, Who::lane(i.pc, w.id, lane), address, unit) else {
                return outside_memory(cx, AccessKind::Read, &at, inside, unit, extra);
            };
            *word = value;
        }
        values[lane] = format.decode(words);
    }
    for lane in lanes_of(w.exec()) {
        write(&format, w, i, &f, lane, values[lane]);
    }
    Flow::Next
}

#[inline(never)]
fn store(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let f = fields_of(i);
    let Texels { format, at, inside } = match Texels::of(w, i) {
        Ok(texels) => texels,
        Err(detail) => return unmodelled(cx, detail),
    };
    if f.dmask == 0 {
        return unmodelled(cx, "image stores without components (dmask 0)");
    }
    let (size, unit) = (format.size(), format.unit());
    for lane in lanes_of(inside) {
        let count = f.dmask.count_ones() as usize;
        let given = format.of_registers(w, i.src[1], lane, count, if f.d16 { 2 } else { 1 }, false);
        let mut values = [0; 4];
        for (n, value) in (0..4).filter(|n| f.dmask >> n & 1 != 0).zip(given) {
            values[n] = value;
        }
        // What loads select from a component of memory is stored to it.
        let component = |n: u32| format.select.iter().position(|select| *select == 4 + n);
        let words = format.encode([0, 1, 2, 3].map(|n| component(n).map_or(0, |from| values[from])));
        for (extra, word) in (0..size).step_by(4).zip(words) {
            let address = at.0[lane] + u64::from(extra);
            if store_part(cx, Who::lane(i.pc, w.id, lane), address, unit, word).is_none() {
                return outside_memory(cx, AccessKind::Write, &at, inside, unit, extra);
            }
        }
    }
    Flow::Next
}

/// Faults with the lanes whose texels are in no allocation.
#[cold]
fn outside_memory(
    cx: &mut ExecContext,
    access: AccessKind,
    at: &Wide,
    inside: u64,
    size: u32,
    extra: u32,
) -> Flow {
    global_fault(cx, access, &|lane| at.0[lane] + u64::from(extra), inside, size as usize)
}

#[inline(never)]
fn info(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let f = fields_of(i);
    let image = match image_of(w, i, &f) {
        Ok(image) => image,
        Err(detail) => return unmodelled(cx, detail),
    };
    let mut values = [[0; 4]; LANES];
    addresses(w, i, &f, 0, &mut values);
    let plain = nothing(i);
    for lane in lanes_of(w.exec()) {
        let levels = image.as_ref().map_or(0, |image| image.levels);
        let view = image.as_ref().and_then(|image| image.view(values[lane][0]));
        let [width, height, slices] = view.map_or([0; 3], |view| [view.width, view.height, view.slices]);
        write(&plain, w, i, &f, lane, [width, height, slices, levels]);
    }
    Flow::Next
}

/// `image_atomic_*`, on texels of 32 bits (`A`) or 64 (`B`), which `dmask` decides (10.4, "Atomics"). A lane without a texel
/// changes nothing, and its result is 0.
pub(crate) struct ImageRmw<A, B>(PhantomData<(A, B)>);
impl<A: Rmw, B: Rmw> Exec for ImageRmw<A, B> {
    #[inline(always)]
    fn exec(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
        let texels = match Texels::of(w, i) {
            Ok(texels) => texels,
            Err(detail) => return unmodelled(cx, detail),
        };
        let (single, double) = if A::TWO { (3, 15) } else { (1, 3) };
        match (fields_of(i).dmask, texels.format.size()) {
            (dmask, 0 | 4) if dmask == single => rmw::<A>(w, cx, i, &texels),
            (dmask, 0 | 8) if dmask == double => rmw::<B>(w, cx, i, &texels),
            // Nothing is bound.
            (_, 0) => Flow::Next,
            (dmask, size) => unmodelled(cx, format!("image atomics with dmask {dmask:#x} on {size} bytes")),
        }
    }
}

fn rmw<O: Rmw>(w: &mut Wave, cx: &mut ExecContext, i: &Inst, texels: &Texels) -> Flow {
    if i.flags & flag::GLC != 0 {
        for lane in lanes_of(w.exec() & !texels.inside) {
            O::T::of_element(<O::T as Bits>::E::from_bytes([0; 16])).set(w, i.dst, lane);
        }
    }
    buffer_rmw::<O>(w, cx, i, &texels.at, texels.inside)
}

/// Returns the number of registers of an atomic's result.
pub(crate) fn result_registers(i: &Inst, f: &fields::Mimg) -> u16 {
    let is_swap = i.row.mnemonic == Mnemonic::Mimg(Mimg::image_atomic_cmpswap);
    data_registers(i, f) / if is_swap { 2 } else { 1 }
}
