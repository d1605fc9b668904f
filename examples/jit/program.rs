//! Turns an expression into stages that run in order: one kernel for each reduction, and one for the result.

use super::parse::{Expr, What, parse};
use super::problem::Problem;
use super::values::{Value, Values};

/// A reduction of elements to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Product,
    Min,
    Max,
}

/// An operation on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Negate,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tan,
    Tanh,
    Abs,
    Floor,
    Min,
    Max,
    Where,
}

/// The operations by name, as they are written or as the parser names operators, with their numbers of arguments.
const OPERATIONS: [(&str, usize, Op); 24] = [
    ("+", 2, Op::Add),
    ("-", 2, Op::Sub),
    ("*", 2, Op::Mul),
    ("/", 2, Op::Div),
    ("pow", 2, Op::Pow),
    ("<", 2, Op::Less),
    ("<=", 2, Op::LessEqual),
    (">", 2, Op::Greater),
    (">=", 2, Op::GreaterEqual),
    ("==", 2, Op::Equal),
    ("!=", 2, Op::NotEqual),
    ("negate", 1, Op::Negate),
    ("sqrt", 1, Op::Sqrt),
    ("exp", 1, Op::Exp),
    ("log", 1, Op::Log),
    ("sin", 1, Op::Sin),
    ("cos", 1, Op::Cos),
    ("tan", 1, Op::Tan),
    ("tanh", 1, Op::Tanh),
    ("abs", 1, Op::Abs),
    ("floor", 1, Op::Floor),
    ("min", 2, Op::Min),
    ("max", 2, Op::Max),
    ("where", 3, Op::Where),
];

/// One step of a stage. The steps that it refers to come before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A number in the text, which is part of the kernel.
    Number(f64),
    /// A number that is an argument: another value needs no other kernel.
    Scalar(usize),
    /// The element of an array.
    Array(usize),
    /// The result of an earlier stage.
    Reduction(usize),
    /// An operation on earlier steps.
    Apply(Op, Vec<usize>),
}

/// A stage: what each work-item of a kernel computes for its element.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) steps: Vec<Step>,
    /// The number of elements; `None` for a single number.
    pub(super) len: Option<usize>,
    /// The reduction of its elements; `None` for the result's stage.
    pub(super) fold: Option<Fold>,
}

/// A checked expression.
#[derive(Debug)]
pub(super) struct Program {
    /// The names of the arrays, in the order of the kernels' arguments.
    pub(super) arrays: Vec<String>,
    /// The values of the scalars, in the order of the kernels' arguments.
    pub(super) scalars: Vec<f64>,
    scalar_names: Vec<String>,
    reductions: Vec<Stage>,
    result: Stage,
}

/// The length of a step, and the array that it is from.
#[derive(Clone, Debug)]
struct Length {
    elements: usize,
    name: String,
}

impl Program {
    /// Parses and checks an expression.
    pub(super) fn new(text: &str, values: &Values) -> Result<Program, Problem> {
        let tree = parse(text)?;
        let empty = Stage { steps: Vec::new(), len: None, fold: None };
        let (arrays, scalars, scalar_names, reductions) = Default::default();
        let mut program = Program { arrays, scalars, scalar_names, reductions, result: empty.clone() };
        let mut result = empty;
        let (_, length) = Checker { text, values, program: &mut program }.lower(&tree, &mut result.steps)?;
        result.len = length.map(|length| length.elements);
        program.result = result;
        Ok(program)
    }

    /// All stages, in the order in which they run. The last one computes the result.
    pub(super) fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.reductions.iter().chain([&self.result])
    }

    /// The number of reductions: of all stages but the last.
    pub(super) fn reductions(&self) -> usize {
        self.reductions.len()
    }

    /// The last stage.
    pub(super) fn result(&self) -> &Stage {
        &self.result
    }
}

struct Checker<'a> {
    text: &'a str,
    values: &'a Values,
    program: &'a mut Program,
}

/// The index of a step, and its length if it is no single number.
type Lowered = (usize, Option<Length>);

fn push(steps: &mut Vec<Step>, step: Step) -> usize {
    steps.push(step);
    steps.len() - 1
}

impl Checker<'_> {
    fn problem(&self, at: usize, message: impl Into<String>) -> Problem {
        Problem::new(self.text, at, message)
    }

    /// Appends the steps of a tree to `steps`.
    fn lower(&mut self, tree: &Expr, steps: &mut Vec<Step>) -> Result<Lowered, Problem> {
        match &tree.what {
            What::Number(number) => Ok((push(steps, Step::Number(*number)), None)),
            What::Name(name) => self.name(name, tree.at, steps),
            What::Call(name, args) => match (reduction(name), &args[..]) {
                (Some((fold, is_mean)), [arg]) => self.reduce(fold, is_mean, arg, steps),
                _ => self.call(name, args, tree.at, steps),
            },
        }
    }

    fn name(&mut self, name: &str, at: usize, steps: &mut Vec<Step>) -> Result<Lowered, Problem> {
        match self.values.get(name) {
            Some(Value::Number(number)) => {
                let index = self.scalar(name, *number);
                Ok((push(steps, Step::Scalar(index)), None))
            }
            Some(Value::Array(elements)) => {
                let arrays = &mut self.program.arrays;
                let index = arrays.iter().position(|array| array == name).unwrap_or(arrays.len());
                if index == arrays.len() {
                    arrays.push(name.to_owned());
                }
                let length = Length { elements: elements.len(), name: name.to_owned() };
                Ok((push(steps, Step::Array(index)), Some(length)))
            }
            None => {
                let known: Vec<&str> = self.values.names().collect();
                let known = if known.is_empty() {
                    "none is".to_owned()
                } else {
                    format!("known: {}", known.join(", "))
                };
                Err(self.problem(at, format!("`{name}` is not defined ({known})")))
            }
        }
    }

    /// The index of a scalar among the arguments.
    fn scalar(&mut self, name: &str, value: f64) -> usize {
        let names = &mut self.program.scalar_names;
        names.iter().position(|scalar| scalar == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            self.program.scalars.push(value);
            names.len() - 1
        })
    }

    fn reduce(
        &mut self,
        fold: Fold,
        is_mean: bool,
        arg: &Expr,
        outer: &mut Vec<Step>,
    ) -> Result<Lowered, Problem> {
        let mut steps = Vec::new();
        let (_, length) = self.lower(arg, &mut steps)?;
        let len = length.map(|length| length.elements);
        self.program.reductions.push(Stage { steps, len, fold: Some(fold) });
        let index = self.program.reductions.len() - 1;
        let reduced = push(outer, Step::Reduction(index));
        if !is_mean {
            return Ok((reduced, None));
        }
        // The count is an argument, so arrays of another length need no other kernel. No name has a `#` in it.
        let count = self.scalar(&format!("#{index}"), len.unwrap_or(1) as f64);
        let count = push(outer, Step::Scalar(count));
        Ok((push(outer, Step::Apply(Op::Div, vec![reduced, count])), None))
    }

    fn call(
        &mut self,
        name: &str,
        args: &[Expr],
        at: usize,
        steps: &mut Vec<Step>,
    ) -> Result<Lowered, Problem> {
        let Some((_, takes, op)) = OPERATIONS.iter().find(|(known, _, _)| *known == name) else {
            if reduction(name).is_some() {
                return Err(self.problem(at, format!("`{name}` takes 1 argument, got {}", args.len())));
            }
            return Err(self.problem(at, format!("`{name}` is no function; --help lists them")));
        };
        if *takes != args.len() {
            let or = if reduction(name).is_some() { ", or 1 array" } else { "" };
            let s = if *takes == 1 { "" } else { "s" };
            return Err(
                self.problem(at, format!("`{name}` takes {takes} argument{s}{or}, got {}", args.len()))
            );
        }
        let mut operands = Vec::with_capacity(args.len());
        let mut length: Option<Length> = None;
        for arg in args {
            let (step, its) = self.lower(arg, steps)?;
            operands.push(step);
            match (&length, its) {
                (Some(one), Some(other)) if one.elements != other.elements => {
                    let message = format!(
                        "lengths differ: `{}` has {} elements, `{}` has {}",
                        one.name, one.elements, other.name, other.elements
                    );
                    return Err(self.problem(at, message));
                }
                (None, its) => length = its,
                _ => {}
            }
        }
        Ok((push(steps, Step::Apply(*op, operands)), length))
    }
}

/// Returns the reduction with a name, and whether it is a mean.
fn reduction(name: &str) -> Option<(Fold, bool)> {
    match name {
        "sum" => Some((Fold::Sum, false)),
        "mean" => Some((Fold::Sum, true)),
        "prod" => Some((Fold::Product, false)),
        "min" => Some((Fold::Min, false)),
        "max" => Some((Fold::Max, false)),
        _ => None,
    }
}
