//! Writes a program as HIP C++: a kernel for each stage, all with the same parameters.
//!
//! The parameters are the arrays, the scalars, the partial results of each reduction, the output, and the number of
//! elements. A reduction writes [`GROUPS`] partial results, one for each workgroup; a kernel that reads it folds them.

use std::fmt::Write;

use super::program::{Fold, Op, Program, Stage, Step};

/// The number of work-items of a workgroup.
pub(super) const BLOCK: u32 = 256;
/// The number of workgroups of a reduction.
pub(super) const GROUPS: u32 = 64;

/// Returns the first value of a fold, and its operation on `a` and `b`.
fn fold(fold: Fold) -> (&'static str, &'static str) {
    match fold {
        Fold::Sum => ("0.0", "a + b"),
        Fold::Product => ("1.0", "a * b"),
        Fold::Min => ("__builtin_inf()", "fmin(a, b)"),
        Fold::Max => ("-__builtin_inf()", "fmax(a, b)"),
    }
}

/// Returns the name of a stage's kernel.
pub(super) fn kernel(stage: usize) -> String {
    format!("stage{stage}")
}

/// Returns the source of a program.
pub(super) fn source(program: &Program) -> String {
    let mut text = String::new();
    for (index, stage) in program.stages().enumerate() {
        write_stage(&mut text, program, index, stage);
    }
    text
}

fn write_stage(text: &mut String, program: &Program, index: usize, stage: &Stage) {
    // Writing to a string can't fail.
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    let mut parameters: Vec<String> =
        (0..program.arrays.len()).map(|i| format!("const double* a{i}")).collect();
    parameters.extend((0..program.scalars.len()).map(|i| format!("double s{i}")));
    parameters.extend((0..program.reductions()).map(|i| format!("const double* r{i}")));
    parameters.extend(["double* out".to_owned(), "unsigned n".to_owned()]);
    line(format_args!("extern \"C\" __global__ void __launch_bounds__({BLOCK})"));
    line(format_args!("{}({}) {{", kernel(index), parameters.join(", ")));
    // Each reduction that the stage reads is folded once, before the elements.
    let mut read: Vec<usize> =
        stage.steps.iter().filter_map(|s| if let Step::Reduction(r) = s { Some(*r) } else { None }).collect();
    read.sort_unstable();
    read.dedup();
    for r in read {
        let how = program.stages().nth(r).and_then(|stage| stage.fold).unwrap_or(Fold::Sum);
        let (begin, next) = fold(how);
        line(format_args!("  double f{r} = {begin};"));
        line(format_args!("  for (unsigned k = 0; k < {GROUPS}; ++k) {{"));
        line(format_args!("    const double a = f{r}, b = r{r}[k];"));
        line(format_args!("    f{r} = {next};"));
        line(format_args!("  }}"));
    }
    match stage.fold {
        None => {
            line(format_args!("  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"));
            line(format_args!("  if (i >= n) return;"));
            write_steps(&mut line, stage, "  ");
            line(format_args!("  out[i] = v{};", stage.steps.len() - 1));
        }
        Some(how) => {
            let (begin, next) = fold(how);
            line(format_args!("  __shared__ double sums[{BLOCK}];"));
            line(format_args!("  double sum = {begin};"));
            line(format_args!(
                "  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{"
            ));
            write_steps(&mut line, stage, "    ");
            line(format_args!("    const double a = sum, b = v{};", stage.steps.len() - 1));
            line(format_args!("    sum = {next};"));
            line(format_args!("  }}"));
            line(format_args!("  sums[threadIdx.x] = sum;"));
            line(format_args!("  for (unsigned half = {BLOCK} / 2; half > 0; half /= 2) {{"));
            line(format_args!("    __syncthreads();"));
            line(format_args!("    if (threadIdx.x < half) {{"));
            line(format_args!("      const double a = sums[threadIdx.x], b = sums[threadIdx.x + half];"));
            line(format_args!("      sums[threadIdx.x] = {next};"));
            line(format_args!("    }}"));
            line(format_args!("  }}"));
            line(format_args!("  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];"));
        }
    }
    line(format_args!("}}\n"));
}

fn write_steps(line: &mut impl FnMut(std::fmt::Arguments<'_>), stage: &Stage, indent: &str) {
    for (v, step) in stage.steps.iter().enumerate() {
        let value = match step {
            // The shortest text that is read as the same number; C++ takes it as a double.
            Step::Number(number) => format!("{number:?}"),
            Step::Scalar(index) => format!("s{index}"),
            Step::Array(index) => format!("a{index}[i]"),
            Step::Reduction(index) => format!("f{index}"),
            Step::Apply(op, operands) => apply(*op, operands),
        };
        line(format_args!("{indent}const double v{v} = {value};"));
    }
}

fn apply(op: Op, operands: &[usize]) -> String {
    let v = |at: usize| operands.get(at).map(|v| format!("v{v}")).unwrap_or_default();
    let infix = |symbol: &str| format!("{} {symbol} {}", v(0), v(1));
    let compare = |symbol: &str| format!("{} {symbol} {} ? 1.0 : 0.0", v(0), v(1));
    let call = |name: &str| {
        format!("{name}({})", operands.iter().map(|v| format!("v{v}")).collect::<Vec<_>>().join(", "))
    };
    match op {
        Op::Add => infix("+"),
        Op::Sub => infix("-"),
        Op::Mul => infix("*"),
        Op::Div => infix("/"),
        Op::Less => compare("<"),
        Op::LessEqual => compare("<="),
        Op::Greater => compare(">"),
        Op::GreaterEqual => compare(">="),
        Op::Equal => compare("=="),
        Op::NotEqual => compare("!="),
        Op::Negate => format!("-{}", v(0)),
        Op::Pow => call("pow"),
        Op::Sqrt => call("sqrt"),
        Op::Exp => call("exp"),
        Op::Log => call("log"),
        Op::Sin => call("sin"),
        Op::Cos => call("cos"),
        Op::Tan => call("tan"),
        Op::Tanh => call("tanh"),
        Op::Abs => call("fabs"),
        Op::Floor => call("floor"),
        Op::Min => call("fmin"),
        Op::Max => call("fmax"),
        Op::Where => format!("{} != 0.0 ? {} : {}", v(0), v(1), v(2)),
    }
}
