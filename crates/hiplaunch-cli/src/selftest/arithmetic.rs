//! Elementwise operations, sums and matrix products of the device beside the emulator's.

use std::rc::Rc;

use crate::CommandError;
use crate::session::{CommandSession, DriverArgs, unusable};
use hiplaunch::Backend;
use hiplaunch_tensor::{Element, FloatElement, LazyTensor, Tensors};
use serde_json::json;

use super::parts::{Case, Tested};

/// The length of a side of the operands.
const SIDE: usize = 64;

/// An operation of two operands. Unary ones take the first.
type Operation<T> = fn(&LazyTensor<T>, &LazyTensor<T>) -> LazyTensor<T>;

/// An operation, and by how many units in the last place results may differ: those of the device's exponential come from its
/// instructions, which are not rounded correctly, and the last step of a division scales, so that what implements it may round a
/// subnormal quotient twice. How many differ is in the report in any case.
type Row<T> = (&'static str, u64, Operation<T>);

fn of_all<T: Element>() -> Vec<Row<T>> {
    vec![
        ("add", 0, |a, b| a.add(b)),
        ("sub", 0, |a, b| a.sub(b)),
        ("mul", 0, |a, b| a.mul(b)),
        ("max", 0, |a, b| a.max(b)),
        ("min", 0, |a, b| a.min(b)),
        ("neg", 0, |a, _| a.neg()),
        ("mul_add", 0, |a, b| a.mul_add(b, a)),
        ("sum of columns", 0, |a, _| a.sum(0)),
        ("sum of rows", 0, |a, _| a.sum(1)),
        ("matrix product", 0, |a, b| a.matmul(b)),
    ]
}

fn of_floats<T: FloatElement>() -> Vec<Row<T>> {
    let mut rows = of_all::<T>();
    rows.push(("div", 1, |a, b| a.div(b)));
    rows.push(("sqrt", 0, |a, _| a.sqrt()));
    rows.push(("exp", 2, |a, _| a.exp()));
    rows
}

/// The element types, with how their numbers are compared.
trait Compared: Element {
    /// Returns an operand, from random bits.
    fn operand(bits: u64) -> Self;
    /// Returns how many numbers of the type lie between two; 0 if both are no number.
    fn distance(self, other: Self) -> u64;
}

macro_rules! floats {
    ($($float:ident $bits:ident $integer:ident;)*) => {$(
        impl Compared for $float {
            fn operand(bits: u64) -> $float {
                const SPECIAL: [$float; 8] = [
                    0.0, -0.0, 1.0, $float::INFINITY, $float::NEG_INFINITY, $float::NAN, $float::MIN_POSITIVE,
                    $float::MIN_POSITIVE / 4.0,
                ];
                match bits % 64 {
                    n @ 0..8 => SPECIAL[n as usize],
                    _ => ((bits >> 11) as $float / (1u64 << 53) as $float - 0.5) * 16.0,
                }
            }

            fn distance(self, other: $float) -> u64 {
                if self.is_nan() && other.is_nan() {
                    return 0;
                }
                // Numbers in their order.
                let place = |x: $float| {
                    let bits = x.to_bits() as $integer;
                    i128::from(if bits < 0 { $integer::MIN - bits } else { bits })
                };
                if self.to_bits() == other.to_bits() { 0 } else { place(self).abs_diff(place(other)).max(1) as u64 }
            }
        }
    )*};
}

floats! {
    f32 u32 i32;
    f64 u64 i64;
}

impl Compared for i32 {
    fn operand(bits: u64) -> i32 {
        bits as i32
    }

    fn distance(self, other: i32) -> u64 {
        u64::from(self.abs_diff(other))
    }
}

/// The device and the emulator.
struct Pair {
    tested: Tensors,
    reference: Tensors,
}

pub(super) fn cases(driver: &DriverArgs) -> Result<Vec<Case>, CommandError> {
    if cfg!(not(feature = "emulator")) {
        let skipped = Some("this build has no emulator to compare with".to_owned());
        let test = Box::new(|| Ok(Tested { skipped, ..Tested::default() }));
        return Ok(vec![Case { name: "all".to_owned(), test }]);
    }
    let tensors = |session: &CommandSession| {
        let stream = session.launcher.stream(&session.device).map_err(unusable)?;
        Tensors::new(&session.launcher, &stream).map_err(unusable)
    };
    let tested = tensors(&CommandSession::open(driver)?)?;
    let emulator = DriverArgs { backend: Backend::Emulator, device: 0, ..driver.clone() };
    let reference = tensors(&CommandSession::open(&emulator)?)?;
    let pair = Rc::new(Pair { tested, reference });
    let mut all = Vec::new();
    add(of_floats::<f32>(), &pair, &mut all);
    add(of_floats::<f64>(), &pair, &mut all);
    add(of_all::<i32>(), &pair, &mut all);
    Ok(all)
}

/// Adds the cases of a type.
fn add<T: Compared>(rows: Vec<Row<T>>, pair: &Rc<Pair>, all: &mut Vec<Case>) {
    for (operation, allowed, compute) in rows {
        let pair = Rc::clone(pair);
        all.push(Case {
            name: format!("{operation}, {}", T::TYPE.name()),
            test: Box::new(move || compared(&pair, compute, allowed)),
        });
    }
}

/// Computes on both, and compares.
fn compared<T: Compared>(pair: &Pair, compute: Operation<T>, allowed: u64) -> Result<Tested, String> {
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    let mut operand = || -> Vec<T> {
        let next = || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            T::operand(bits)
        };
        std::iter::repeat_with(next).take(SIDE * SIDE).collect()
    };
    let (a, b) = (operand(), operand());
    let on = |tensors: &Tensors| -> hiplaunch_tensor::Result<Vec<T>> {
        let shape = [SIDE, SIDE];
        compute(&tensors.from_slice(&a, &shape)?, &tensors.from_slice(&b, &shape)?).to_vec()
    };
    let tested = on(&pair.tested).map_err(|error| error.to_string())?;
    let reference = on(&pair.reference).map_err(|error| format!("on the emulator: {error}"))?;
    let distances = || tested.iter().zip(&reference).map(|(x, y)| x.distance(*y));
    let (furthest, differing) = (distances().max().unwrap_or(0), distances().filter(|d| *d > 0).count());
    if furthest <= allowed {
        return Ok(Tested {
            skipped: None,
            found: json!({ "elements": tested.len(), "differing": differing, "units_in_the_last_place": furthest }),
        });
    }
    let worst = distances().position(|distance| distance == furthest).unwrap_or(0);
    Err(format!(
        "{differing} of {} results differ, by at most {furthest} units in the last place: result {worst} is {:?}, the emulator's {:?}",
        tested.len(),
        tested.get(worst),
        reference.get(worst),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_the_numbers_between() {
        assert_eq!([1.0f32.distance(1.0), 1.0f32.distance(1.0 + f32::EPSILON)], [0, 1]);
        assert_eq!([f32::NAN.distance(-f32::NAN), 0.0f32.distance(-0.0)], [0, 1]);
        assert_eq!(f64::from_bits(1).distance(-f64::from_bits(1)), 2);
        assert_eq!(f64::MAX.distance(f64::INFINITY), 1);
        assert_eq!([i32::MIN.distance(i32::MAX), 5.distance(3)], [u64::from(u32::MAX), 2]);
    }
}
