//! Programs as trees of text with placeholders, so that parts can be removed or simplified without parsing C.

use std::fmt::Write;

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// A struct or a pointer, which can't be replaced with another value.
    Opaque,
}

/// A type of the prelude: `i8` to `u128`, `f16` to `f64`, and vectors of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ty {
    pub(crate) kind: Kind,
    pub(crate) bits: u8,
    pub(crate) lanes: u8,
}

impl Ty {
    pub(crate) const BOOL: Ty = Ty { kind: Kind::Bool, bits: 1, lanes: 1 };
    pub(crate) const OPAQUE: Ty = Ty { kind: Kind::Opaque, bits: 0, lanes: 1 };
    pub(crate) const U32: Ty = Ty::unsigned(32);
    pub(crate) const I32: Ty = Ty::signed(32);
    pub(crate) const U64: Ty = Ty::unsigned(64);

    pub(crate) const fn signed(bits: u8) -> Ty {
        Ty { kind: Kind::Signed, bits, lanes: 1 }
    }

    pub(crate) const fn unsigned(bits: u8) -> Ty {
        Ty { kind: Kind::Unsigned, bits, lanes: 1 }
    }

    pub(crate) const fn float(bits: u8) -> Ty {
        Ty { kind: Kind::Float, bits, lanes: 1 }
    }

    pub(crate) const fn times(self, lanes: u8) -> Ty {
        Ty { lanes, ..self }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self.kind, Kind::Signed | Kind::Unsigned)
    }

    /// Returns whether it has a size that memory and vectors have.
    pub(crate) fn is_standard(self) -> bool {
        matches!(self.bits, 8 | 16 | 32 | 64)
    }

    pub(crate) fn name(self) -> String {
        let letter = match self.kind {
            Kind::Bool => return "int".into(),
            Kind::Opaque => return "void".into(),
            Kind::Signed => 'i',
            Kind::Unsigned => 'u',
            Kind::Float => 'f',
        };
        match self.lanes {
            1 => format!("{letter}{}", self.bits),
            n => format!("{letter}{}x{n}", self.bits),
        }
    }
}

/// An expression: `$0`, `$1`, .. in the text are placeholders for the arguments.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) ty: Ty,
    pub(crate) text: String,
    pub(crate) args: Vec<Expr>,
}

impl Expr {
    pub(crate) fn new(ty: Ty, text: impl Into<String>, args: Vec<Expr>) -> Expr {
        Expr { ty, text: text.into(), args }
    }

    pub(crate) fn leaf(ty: Ty, text: impl Into<String>) -> Expr {
        Expr::new(ty, text, Vec::new())
    }

    /// Returns the simplest value of a type.
    pub(crate) fn zero(ty: Ty) -> Expr {
        match ty.kind {
            Kind::Bool => Expr::leaf(ty, "0"),
            _ => Expr::leaf(ty, format!("(({})0)", ty.name())),
        }
    }

    pub(crate) fn write(&self, out: &mut String) {
        fill(&self.text, '$', out, |n, out| {
            if let Some(arg) = self.args.get(n) {
                arg.write(out);
            }
        });
    }
}

/// A statement: `$0`, .. are placeholders for expressions, `@0`, .. for blocks.
#[derive(Debug, Clone)]
pub(crate) struct Stmt {
    pub(crate) text: String,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) blocks: Vec<Vec<Stmt>>,
    /// Whether later statements may need it to compile.
    pub(crate) declares: bool,
}

impl Stmt {
    pub(crate) fn new(text: impl Into<String>, exprs: Vec<Expr>) -> Stmt {
        Stmt { text: text.into(), exprs, blocks: Vec::new(), declares: false }
    }

    pub(crate) fn declaring(text: impl Into<String>, exprs: Vec<Expr>) -> Stmt {
        Stmt { declares: true, ..Stmt::new(text, exprs) }
    }

    pub(crate) fn with(text: impl Into<String>, exprs: Vec<Expr>, blocks: Vec<Vec<Stmt>>) -> Stmt {
        Stmt { blocks, ..Stmt::new(text, exprs) }
    }

    fn write(&self, indent: usize, out: &mut String) {
        let mut with_exprs = String::new();
        fill(&self.text, '$', &mut with_exprs, |n, out| {
            if let Some(expr) = self.exprs.get(n) {
                expr.write(out);
            }
        });
        let _ = write!(out, "{:indent$}", "");
        fill(&with_exprs, '@', out, |n, out| {
            out.push_str("{\n");
            write_block(self.blocks.get(n).map_or(&[], Vec::as_slice), indent + 2, out);
            let _ = write!(out, "{:indent$}}}", "");
        });
        out.push('\n');
    }
}

fn write_block(block: &[Stmt], indent: usize, out: &mut String) {
    block.iter().for_each(|stmt| stmt.write(indent, out));
}

/// Copies text, and calls `hole` for each sign with a hexadecimal digit after it.
fn fill(text: &str, sign: char, out: &mut String, hole: impl Fn(usize, &mut String)) {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c == sign).then(|| rest.next().and_then(|d| d.to_digit(16))).flatten() {
            Some(n) => hole(n as usize, out),
            None => out.push(c),
        }
    }
}

/// A function: its head, its body, and its result.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) head: String,
    pub(crate) body: Vec<Stmt>,
    pub(crate) result: Option<Expr>,
}

/// The launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// The kernel's scalar argument.
    pub(crate) param: u32,
}

impl Shape {
    pub(crate) fn block_size(&self) -> usize {
        self.block.iter().product::<u32>() as usize
    }

    pub(crate) fn items(&self) -> usize {
        self.block_size() * self.grid.iter().product::<u32>() as usize
    }
}

/// A program: a kernel with its types and functions.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
    /// The attributes of the kernel, as C text.
    pub(crate) attributes: String,
    /// The types, and the struct of a lane's state, as C text.
    pub(crate) types: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) kernel: Vec<Stmt>,
}

impl Program {
    /// Returns the C text. [`launch_of`] reads its first line.
    pub(crate) fn text(&self) -> String {
        let Shape { grid: [gx, gy, gz], block: [bx, by, bz], param } = self.shape;
        let mut out = format!(
            "// differential: input {} grid {gx} {gy} {gz} block {bx} {by} {bz} param {param}\n",
            self.seed
        );
        for (name, value) in ["X", "Y", "Z"].iter().zip([(gx, bx), (gy, by), (gz, bz)]) {
            let _ = writeln!(out, "#define GRID_{name} {}u\n#define BLOCK_{name} {}u", value.0, value.1);
        }
        let _ = writeln!(out, "#define KERNEL_ATTRIBUTES {}\n#include \"prelude.h\"\n", self.attributes);
        out.push_str(&self.types);
        for function in &self.functions {
            let _ = writeln!(out, "\n{} {{", function.head);
            write_block(&function.body, 2, &mut out);
            if let Some(result) = &function.result {
                out.push_str("  return ");
                result.write(&mut out);
                out.push_str(";\n");
            }
            out.push_str("}\n");
        }
        out.push_str("\nKERNEL_BEGIN\n");
        write_block(&self.kernel, 0, &mut out);
        out.push_str("KERNEL_END\n#include \"host_main.h\"\n");
        out
    }
}

/// Returns the seed of the input and the launch, which a program's text gives in its first line.
pub(crate) fn launch_of(text: &str) -> Option<(u64, Shape)> {
    let line = text.lines().next()?.strip_prefix("// differential: ")?;
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[seed, gx, gy, gz, bx, by, bz, param] = numbers.as_slice() else { return None };
    let dim = |n: u64| u32::try_from(n).ok().filter(|n| *n > 0);
    let grid = [dim(gx)?, dim(gy)?, dim(gz)?];
    let block = [dim(bx)?, dim(by)?, dim(bz)?];
    Some((seed, Shape { grid, block, param: u32::try_from(param).ok()? }))
}
