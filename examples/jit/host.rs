//! Computes programs on the host, to check the device's results.

use super::program::{Fold, Op, Program, Stage, Step};
use super::values::Values;

/// The relative difference that is allowed between device and host: functions such as `exp` differ in the last bits,
/// and sums are computed in another order.
const TOLERANCE: f64 = 1e-9;

/// Describes the first element that differs from the host's; `None` if none differs.
pub(super) fn difference(program: &Program, values: &Values, device: &[f64]) -> Option<String> {
    let mut reductions = Vec::new();
    for stage in program.stages() {
        let elements = (0..stage.len.unwrap_or(1)).map(|i| element(stage, i, program, values, &reductions));
        match stage.fold {
            Some(fold) => {
                let begin = match fold {
                    Fold::Sum => 0.0,
                    Fold::Product => 1.0,
                    Fold::Min => f64::INFINITY,
                    Fold::Max => f64::NEG_INFINITY,
                };
                let (mut value, mut largest) = (begin, 0.0f64);
                for (next, near) in elements {
                    value = match fold {
                        Fold::Sum => value + next,
                        Fold::Product => value * next,
                        Fold::Min => value.min(next),
                        Fold::Max => value.max(next),
                    };
                    largest = largest.max(near).max(value.abs());
                }
                reductions.push((value, largest));
            }
            None => {
                let expected: Vec<(f64, f64)> = elements.collect();
                if expected.len() != device.len() {
                    return Some(format!("{} elements, the host has {}", device.len(), expected.len()));
                }
                let pairs = expected.iter().zip(device).enumerate();
                let mut wrong =
                    pairs.filter(|(_, ((host, largest), device))| !is_near(*host, *largest, **device));
                return wrong
                    .next()
                    .map(|(i, ((host, _), device))| format!("element {i} is {device}, on the host {host}"));
            }
        }
    }
    None
}

fn is_near(host: f64, largest: f64, device: f64) -> bool {
    if host.is_nan() || device.is_nan() {
        return host.is_nan() && device.is_nan();
    }
    host == device || (host - device).abs() <= TOLERANCE * largest
}

/// Computes an element. Returns its value and the largest intermediate result: cancellation leaves an error in
/// proportion to that.
fn element(
    stage: &Stage,
    i: usize,
    program: &Program,
    values: &Values,
    reductions: &[(f64, f64)],
) -> (f64, f64) {
    let mut results: Vec<(f64, f64)> = Vec::with_capacity(stage.steps.len());
    for step in &stage.steps {
        let (value, largest) = match step {
            Step::Number(number) => (*number, 0.0),
            Step::Scalar(index) => (program.scalars[*index], 0.0),
            Step::Array(index) => (values.array(&program.arrays[*index])[i], 0.0),
            Step::Reduction(index) => reductions[*index],
            Step::Apply(op, operands) => {
                let arg = |at: usize| results[operands[at]].0;
                let largest = operands.iter().map(|o| results[*o].1).fold(0.0, f64::max);
                (apply(*op, arg), largest)
            }
        };
        results.push((value, if value.is_finite() { largest.max(value.abs()) } else { largest }));
    }
    results.last().copied().unwrap_or((0.0, 0.0))
}

fn apply(op: Op, v: impl Fn(usize) -> f64) -> f64 {
    let truth = |is: bool| f64::from(u8::from(is));
    match op {
        Op::Add => v(0) + v(1),
        Op::Sub => v(0) - v(1),
        Op::Mul => v(0) * v(1),
        Op::Div => v(0) / v(1),
        Op::Pow => v(0).powf(v(1)),
        Op::Less => truth(v(0) < v(1)),
        Op::LessEqual => truth(v(0) <= v(1)),
        Op::Greater => truth(v(0) > v(1)),
        Op::GreaterEqual => truth(v(0) >= v(1)),
        Op::Equal => truth(v(0) == v(1)),
        Op::NotEqual => truth(v(0) != v(1)),
        Op::Negate => -v(0),
        Op::Sqrt => v(0).sqrt(),
        Op::Exp => v(0).exp(),
        Op::Log => v(0).ln(),
        Op::Sin => v(0).sin(),
        Op::Cos => v(0).cos(),
        Op::Tan => v(0).tan(),
        Op::Tanh => v(0).tanh(),
        Op::Abs => v(0).abs(),
        Op::Floor => v(0).floor(),
        Op::Min => v(0).min(v(1)),
        Op::Max => v(0).max(v(1)),
        Op::Where => {
            if v(0) != 0.0 {
                v(1)
            } else {
                v(2)
            }
        }
    }
}
