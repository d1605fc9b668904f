//! Random programs: statements, functions and the names in scope.

use super::program::{Expr, Function, Kind, Program, Stmt, Ty};
use super::random::Random;

/// The number of words of global memory that each work-item has for itself, as in the prelude.
pub(crate) const OWN_WORDS: usize = 16;

/// The features that a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// The compiler divides integers of more than 64 bits without a library.
    pub(crate) wide_division: bool,
    /// The compiler generates correctly rounded square roots.
    pub(crate) square_root: bool,
    /// The compiler divides halves with correct rounding. (Clang 15 multiplies by a reciprocal.)
    pub(crate) half_division: bool,
    /// The compiler accepts the kernel attributes in C.
    pub(crate) kernel_attributes: bool,
    /// Programs store bytes to variable indices of vectors and arrays (see `known`).
    pub(crate) byte_vector_insertion: bool,
    /// Functions that are not inlined may use LDS.
    pub(crate) lds_in_functions: bool,
    /// Programs have vectors of more than 16 bytes (see `known`).
    pub(crate) wide_vectors: bool,
    /// Programs have integers of 7, 24, 33, 48 and 96 bits (see `known`).
    pub(crate) odd_integers: bool,
    pub(crate) floats: bool,
    pub(crate) vectors: bool,
    /// Programs have operations across lanes, whose model has waves of 64 lanes and the permutations of gfx9.
    pub(crate) lanes: bool,
}

/// The accesses of a phase to LDS. There is a barrier between two phases unless both are `Own`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Reads and writes the work-item's words.
    Own,
    /// Reads anything.
    Read,
    /// Counts, with atomics whose order doesn't matter.
    Count,
}

#[derive(Debug, Clone)]
pub(crate) struct Var {
    /// The expression to which values are assigned.
    pub(crate) name: String,
    /// The expression that reads the variable. It converts a bit field to its declared type.
    pub(crate) read: String,
    pub(crate) ty: Ty,
    pub(crate) writable: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    pub(crate) len: usize,
    pub(crate) writable: bool,
}

/// The names in scope.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    pub(crate) vars: Vec<Var>,
    pub(crate) arrays: Vec<Array>,
    /// Variables of struct types: the name and the number of the struct.
    pub(crate) structs: Vec<(String, usize)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Parameter {
    Value(Ty),
    /// The depth of recursion, which is less than this.
    Depth(usize),
    Struct(usize),
    /// A pointer to elements on the caller's stack.
    Array(Ty, usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    /// The type of the result. `None` for a struct, whose number is [`Signature::result_struct`].
    pub(crate) result: Option<Ty>,
    result_struct: usize,
    /// The approximate number of statements that a call executes.
    pub(crate) cost: usize,
    /// The number of functions, if this is a table of functions.
    pub(crate) table: Option<usize>,
}

pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Ty,
    width: Option<usize>,
}

/// The approximate numbers of statements that a work-item may execute, and that one function may.
pub(crate) const COST: usize = 6000;
const FUNCTION_COST: usize = 300;

pub(crate) struct Generator {
    pub(crate) r: Random,
    pub(crate) features: Features,
    pub(crate) scope: Scope,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) memory: Option<Memory>,
    tables: Vec<Array>,
    pub(crate) scalars: Vec<Ty>,
    pub(crate) structs: Vec<Vec<Field>>,
    pub(crate) functions: Vec<Function>,
    pub(crate) names: usize,
    /// The iterations of the enclosing loops, and the cost that was spent of the limit.
    pub(crate) trips: usize,
    pub(crate) spent: usize,
    pub(crate) limit: usize,
    /// The type of the function's result, if a function is being generated.
    pub(crate) returns: Option<Ty>,
}

/// Generates the program of a seed, with about `size` statements at its top level.
pub(crate) fn program(seed: u64, size: usize, features: Features) -> Program {
    let mut r = Random::new(seed);
    let features = Features {
        floats: features.floats && r.percent(75),
        vectors: features.vectors && r.percent(60),
        ..features
    };
    let mut scalars = vec![Ty::U32, Ty::I32];
    let mut some = |percent: usize, of: &[Ty]| {
        for ty in of {
            if r.percent(percent) {
                scalars.push(*ty);
            }
        }
    };
    let both = |bits: u8| [Ty::signed(bits), Ty::unsigned(bits)];
    some(60, &[both(8), both(16), both(64)].concat());
    some(12, &both(128));
    if features.odd_integers {
        some(12, &[both(7), both(24), both(33), both(48), both(96)].concat());
    }
    if features.floats {
        some(60, &[Ty::float(16), Ty::float(32), Ty::float(32), Ty::float(64)]);
    }
    let g = Generator {
        r,
        features,
        scope: Scope::default(),
        signatures: Vec::new(),
        memory: None,
        tables: Vec::new(),
        scalars,
        structs: Vec::new(),
        functions: Vec::new(),
        names: 0,
        trips: 1,
        spent: 0,
        limit: COST,
        returns: None,
    };
    g.program(seed, size)
}

impl Generator {
    pub(crate) fn scalar(&mut self) -> Ty {
        self.r.pick(&self.scalars)
    }

    /// Returns a vector type with elements of this type.
    pub(crate) fn vector_of(&mut self, ty: Ty) -> Ty {
        let lanes = match ty.bits {
            _ if self.features.wide_vectors => self.r.pick(&[2, 2, 3, 4, 8]),
            64 => 2,
            32 => self.r.pick(&[2, 2, 3, 4]),
            _ => self.r.pick(&[2, 2, 3, 4, 8]),
        };
        ty.times(lanes)
    }

    pub(crate) fn any_type(&mut self) -> Ty {
        let ty = self.scalar();
        if self.features.vectors && ty.is_standard() | (ty.kind == Kind::Float) && self.r.percent(25) {
            return self.vector_of(ty);
        }
        ty
    }

    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub(crate) fn affordable(&self, cost: usize) -> bool {
        self.spent + self.trips * cost <= self.limit
    }

    pub(crate) fn spend(&mut self, cost: usize) {
        self.spent += self.trips * cost;
    }

    /// Returns the scope outside of functions.
    pub(crate) fn outside(&self) -> Scope {
        Scope { arrays: self.tables.clone(), ..Scope::default() }
    }

    /// Generates arrays of constants.
    pub(crate) fn constant_tables(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.r.below(3) {
            let (name, ty, len) = (self.name("t"), self.scalar(), self.r.pick(&[2, 3, 8, 16]));
            let mut values = String::new();
            for _ in 0..len {
                self.constant(ty).write(&mut values);
                values.push_str(", ");
            }
            text.push_str(&format!("static const {} {name}[{len}] = {{{values}}};\n", ty.name()));
            self.tables.push(Array { name, ty, len, writable: false });
        }
        text
    }

    pub(crate) fn add_var(&mut self, name: &str, ty: Ty, writable: bool) {
        self.scope.vars.push(Var { name: name.into(), read: name.into(), ty, writable });
    }

    fn add_struct(&mut self, name: &str, which: usize) {
        for field in &self.structs[which] {
            let place = format!("{name}.{}", field.name);
            let read = match field.width {
                Some(_) => format!("(({}){place})", field.ty.name()),
                None => place.clone(),
            };
            self.scope.vars.push(Var { name: place, read, ty: field.ty, writable: true });
        }
        self.scope.structs.push((name.into(), which));
    }

    pub(crate) fn struct_types(&mut self) -> String {
        let mut text = String::new();
        for n in 0..self.r.below(4) {
            let mut fields = Vec::new();
            text.push_str(&format!("struct S{n} {{\n"));
            for f in 0..self.r.between(1, 6) {
                let ty = self.any_type();
                let bit_field = ty.is_integer() && ty.lanes == 1 && ty.is_standard() && self.r.percent(50);
                let width = bit_field.then(|| self.r.between(1, ty.bits.into()));
                let name = format!("f{f}");
                match width {
                    Some(width) => text.push_str(&format!("  {} {name} : {width};\n", ty.name())),
                    None => text.push_str(&format!("  {} {name};\n", ty.name())),
                }
                fields.push(Field { name, ty, width });
            }
            text.push_str("};\n");
            self.structs.push(fields);
        }
        text
    }

    /// Generates a value to assign or return, and counts the statement.
    fn value(&mut self, ty: Ty, depth: u32) -> Expr {
        self.spend(1);
        self.expr(ty, depth)
    }

    fn block(&mut self, budget: usize) -> Vec<Stmt> {
        let outer = (self.scope.vars.len(), self.scope.arrays.len(), self.scope.structs.len());
        let mut block = Vec::new();
        for _ in 0..self.r.between(1, 4) {
            self.statement(budget, &mut block);
        }
        self.scope.vars.truncate(outer.0);
        self.scope.arrays.truncate(outer.1);
        self.scope.structs.truncate(outer.2);
        block
    }

    fn declare(&mut self, out: &mut Vec<Stmt>) {
        let ty = self.any_type();
        let value = self.value(ty, 3);
        let name = self.name("v");
        let volatile = if ty.lanes == 1 && self.r.percent(3) { "volatile " } else { "" };
        out.push(Stmt::declaring(format!("{volatile}{} {name} = $0;", ty.name()), vec![value]));
        self.add_var(&name, ty, true);
    }

    fn assign(&mut self, out: &mut Vec<Stmt>) {
        let writable: Vec<usize> =
            (0..self.scope.vars.len()).filter(|n| self.scope.vars[*n].writable).collect();
        if writable.is_empty() {
            return self.declare(out);
        }
        let Var { name, ty, .. } = self.scope.vars[self.r.pick(&writable)].clone();
        if ty.lanes > 1 && self.r.percent(40) {
            let value = self.value(ty.times(1), 3);
            return out.push(
                match self.r.percent(50) || ty.bits == 8 && !self.features.byte_vector_insertion {
                    true => {
                        Stmt::new(format!("{name}[{}] = $0;", self.r.below(ty.lanes.into())), vec![value])
                    }
                    false => {
                        let at = self.expr(Ty::U32, 2);
                        Stmt::new(format!("{name}[$1 % {}u] = $0;", ty.lanes), vec![value, at])
                    }
                },
            );
        }
        let value = self.value(ty, 4);
        out.push(Stmt::new(format!("{name} = $0;"), vec![value]));
    }

    pub(crate) fn statement(&mut self, budget: usize, out: &mut Vec<Stmt>) {
        let choice = self.r.below(100);
        match choice {
            _ if !self.affordable(4) => {}
            0..=17 => self.declare(out),
            18..=39 => self.assign(out),
            40..=51 if budget > 0 => {
                let condition = self.condition(2);
                let mut blocks = vec![self.block(budget - 1)];
                let mut text = "if ($0) @0".to_string();
                if self.r.percent(50) {
                    blocks.push(self.block(budget - 1));
                    text.push_str(" else @1");
                }
                out.push(Stmt::with(text, vec![condition], blocks));
            }
            52..=63 if budget > 0 => self.repeat(budget - 1, out),
            64..=69 if budget > 1 => self.switch(budget - 2, out),
            70..=76 => self.array(out),
            77..=79 => self.structure(out),
            80..=84 if !self.scope.arrays.is_empty() => {
                let array = self.scope.arrays[self.r.below(self.scope.arrays.len())].clone();
                if array.writable {
                    let (value, at) = (self.value(array.ty, 3), self.expr(Ty::U32, 2));
                    out.push(Stmt::new(
                        format!("{}[$1 % {}u] = $0;", array.name, array.len),
                        vec![value, at],
                    ));
                }
            }
            85..=87 => self.call_statement(out),
            88 | 89 if self.returns.is_some() && budget > 0 => {
                let condition = self.condition(2);
                if let Some(ty) = self.returns {
                    let value = self.value(ty, 2);
                    out.push(Stmt::new("if ($0) return $1;", vec![condition, value]));
                }
            }
            _ => match self.memory {
                Some(memory) => self.access(memory, out),
                None => self.assign(out),
            },
        }
    }

    fn repeat(&mut self, budget: usize, out: &mut Vec<Stmt>) {
        let most = self.r.pick(&[2, 3, 5, 9, 17]);
        if self.trips * most > 120 || !self.affordable(6 * most) {
            return self.assign(out);
        }
        let i = self.name("n");
        let count = self.expr(Ty::U32, 2);
        self.trips *= most;
        self.add_var(&i, Ty::U32, false);
        let mut body = self.block(budget);
        if self.r.percent(40) {
            let condition = self.condition(1);
            let jump = self.r.pick(&["break", "continue", "break"]);
            body.insert(
                self.r.below(body.len() + 1).min(1),
                Stmt::new(format!("if ($0) {jump};"), vec![condition]),
            );
        }
        self.scope.vars.retain(|var| var.name != i);
        self.trips /= most;
        let trips = format!("{i}e = $0 % {most}u");
        let text = match self.r.below(4) {
            0 => {
                format!("_Pragma(\"clang loop unroll(full)\") for (u32 {i} = 0; {i} < {most}u; {i}++) @0")
            }
            1 => format!("{{ u32 {i} = 0, {trips}; while ({i}++ < {i}e) @0 }}"),
            _ => format!("for (u32 {i} = 0, {trips}; {i} < {i}e; {i}++) @0"),
        };
        out.push(Stmt::with(text, vec![count], vec![body]));
    }

    fn switch(&mut self, budget: usize, out: &mut Vec<Stmt>) {
        let cases = self.r.between(2, 9);
        let dense = self.r.percent(70);
        let mut text = format!("switch ($0 % {}u) {{", if dense { cases + 1 } else { 1000 });
        let mut blocks = Vec::new();
        for n in 0..cases {
            let label = if dense { n } else { n * 97 % 1000 };
            text.push_str(&format!(
                " case {label}: @{n:x} {}",
                if self.r.percent(70) { "break;" } else { "" }
            ));
            blocks.push(self.block(budget));
        }
        text.push_str(" default: break; }");
        let selector = self.expr(Ty::U32, 2);
        out.push(Stmt::with(text, vec![selector], blocks));
    }

    fn array(&mut self, out: &mut Vec<Stmt>) {
        let mut ty = self.any_type();
        if ty.bits <= 8 && !self.features.byte_vector_insertion {
            ty = Ty::unsigned(16);
        }
        let len = self.r.pick(&[2, 3, 4, 8, 16, 33]);
        let name = self.name("a");
        let (first, step) = (self.value(ty, 2), self.constant(ty));
        self.spend(len);
        let t = ty.name();
        let text = match ty.kind {
            Kind::Float => {
                format!("{t} {name}[{len}]; for (u32 q = 0; q < {len}u; q++) {name}[q] = $0 + $1;")
            }
            _ => format!(
                "{t} {name}[{len}]; for (u32 q = 0; q < {len}u; q++) {name}[q] = ({t})($0 + ($1 ^ ({t})q));"
            ),
        };
        out.push(Stmt::declaring(text, vec![first, step]));
        self.scope.arrays.push(Array { name, ty, len, writable: true });
    }

    fn structure(&mut self, out: &mut Vec<Stmt>) {
        if self.structs.is_empty() {
            return self.assign(out);
        }
        let which = self.r.below(self.structs.len());
        let name = self.name("s");
        let makers: Vec<usize> = (0..self.signatures.len())
            .filter(|n| {
                let s = &self.signatures[*n];
                s.result.is_none()
                    && s.result_struct == which
                    && self.affordable(s.cost)
                    && self.has_arguments(&s.parameters)
            })
            .collect();
        let (value, args) = if !makers.is_empty() && self.r.percent(50) {
            let signature = self.signatures[self.r.pick(&makers)].clone();
            self.spend(signature.cost);
            let args = self.arguments(&signature.parameters, 2);
            let holes: Vec<String> = (0..args.len()).map(|n| format!("${n:x}")).collect();
            (format!("{}({})", signature.name, holes.join(", ")), args)
        } else {
            let types: Vec<Ty> = self.structs[which].iter().map(|field| field.ty).collect();
            let args: Vec<Expr> = types.iter().map(|ty| self.value(*ty, 2)).collect();
            let holes: Vec<String> = (0..args.len()).map(|n| format!("${n:x}")).collect();
            (format!("{{{}}}", holes.join(", ")), args)
        };
        out.push(Stmt::declaring(format!("struct S{which} {name} = {value};"), args));
        self.add_struct(&name, which);
    }

    fn call_statement(&mut self, out: &mut Vec<Stmt>) {
        let ty = self.scalar();
        let name = self.name("v");
        let value = self.value(ty, 2);
        out.push(Stmt::declaring(format!("{} {name} = $0;", ty.name()), vec![value]));
        self.add_var(&name, ty, true);
    }

    /// Generates a store or an atomic.
    fn access(&mut self, memory: Memory, out: &mut Vec<Stmt>) {
        self.spend(1);
        let at = self.expr(Ty::U32, 2);
        let of = self.r.pick(&[Ty::U32, Ty::I32, Ty::U64, Ty::signed(64)]);
        let double = of.bits == 64;
        let operation = self.r.pick(&["add", "sub", "and", "or", "xor", "min", "max", "xchg", "cmp"]);
        let choice = self.r.below(10);
        // The work-item's words are in global memory, in LDS, or in either and accessed through a generic pointer.
        let (place, words, name) = match (choice, memory) {
            (0..=4, Memory::Own) => ("&lds[s->lid * LDS_WORDS", 8, "lds"),
            _ => ("&own[0", OWN_WORDS, "glob"),
        };
        let index = if double { format!("2 * ($0 % {}u)", words / 2) } else { format!("$0 % {words}u") };
        let space = if name == "lds" { "LDS" } else { "GLOB" };
        match self.r.below(12) {
            0..=2 => {
                let ty = self.r.pick(&[
                    Ty::unsigned(8),
                    Ty::signed(16),
                    Ty::U32,
                    Ty::U64,
                    Ty::U32.times(4),
                    Ty::U32.times(2),
                ]);
                let count = words * 32 / (usize::from(ty.bits) * usize::from(ty.lanes));
                let value =
                    if ty.lanes > 1 && !self.features.vectors { self.constant(ty) } else { self.expr(ty, 3) };
                let text = format!("(({space} {}*){place}])[$0 % {count}u] = $1;", ty.name());
                out.push(Stmt::new(text, vec![at, value]));
            }
            3..=5 => {
                let unsigned =
                    if matches!(operation, "xchg" | "cmp") { Ty { kind: Kind::Unsigned, ..of } } else { of };
                let t = unsigned.name();
                let more = if operation == "cmp" { ", $2" } else { "" };
                let result = self.name("v");
                let text = format!(
                    "{t} {result} = {name}_{operation}_{t}(({space} {t}*){place} + {index}], $1{more});"
                );
                let values = vec![at, self.expr(unsigned, 3), self.expr(unsigned, 2)];
                out.push(Stmt::declaring(text, values));
                self.add_var(&result, unsigned, true);
            }
            6 if memory == Memory::Own => {
                let result = self.name("v");
                let operation = self.r.pick(&["load", "swap", "add", "xor", "max"]);
                let pointer =
                    "$0 ? (u32*)&lds[s->lid * LDS_WORDS + $1 % LDS_WORDS] : (u32*)&own[$1 % OWN_WORDS]";
                let text = match operation {
                    "load" => format!("u32 {result} = load_u32({pointer});"),
                    "swap" => format!("u32 {result} = swap_u32({pointer}, $2);"),
                    _ => format!("u32 {result} = flat_{operation}_u32({pointer}, $2);"),
                };
                let values = vec![self.condition(2), at, self.expr(Ty::U32, 2)];
                out.push(Stmt::declaring(text, values));
                self.add_var(&result, Ty::U32, true);
            }
            _ => self.shared_atomic(memory, choice, of, at, out),
        }
    }

    /// Generates an atomic on counters that all work-items share. Half of the counters have 64 bits.
    fn shared_atomic(&mut self, memory: Memory, choice: usize, of: Ty, at: Expr, out: &mut Vec<Stmt>) {
        let (t, double) = (of.name(), of.bits == 64);
        let (region, operation) = match (self.r.below(10), of.kind) {
            (0, _) => ("ADD", "add"),
            (1, _) => ("SUB", "sub"),
            (2, _) => ("AND", "and"),
            (3, _) => ("OR", "or"),
            (4, _) => ("XOR", "xor"),
            (5, Kind::Unsigned) => ("UMIN", "min"),
            (5, _) => ("IMIN", "min"),
            (6, Kind::Unsigned) => ("UMAX", "max"),
            (6, _) => ("IMAX", "max"),
            (7, _) if self.features.floats => ("FADD", "add"),
            _ => ("ADD", "add"),
        };
        let (base, name, space) = match memory {
            Memory::Count if choice < 6 => ("counters", "lds", "LDS"),
            _ => ("shared", "glob", "GLOB"),
        };
        let slot = format!("{base}[{region} * SHARED + 2 * ($0 % (SHARED / 2)) + {}]", u8::from(double));
        let (t, value) = match region {
            // Integers, whose sum doesn't depend on the order.
            "FADD" if double => ("f64".into(), "(f64)($1 & 63)"),
            "FADD" => ("f32".into(), "(f32)($1 & 63)"),
            _ => (t, "$1"),
        };
        let text = format!("{name}_{operation}_{t}(({space} {t}*)&{slot}, {value});");
        let value = self.expr(of, 3);
        out.push(Stmt::new(text, vec![at, value]));
    }

    /// Generates a function of values, structs and arrays.
    pub(crate) fn function(&mut self, recursive: bool) -> Signature {
        let name = self.name("fn");
        let linkage = self.r.pick(&["NOINLINE", "NOINLINE", "inline", "__attribute__((always_inline))"]);
        self.scope = self.outside();
        (self.trips, self.spent, self.limit) = (1, 0, FUNCTION_COST);
        let mut parameters = Vec::new();
        if recursive {
            parameters.push(Parameter::Depth(self.r.between(2, 5)));
        }
        for _ in 0..self.r.between(1, 5) {
            parameters.push(match self.r.below(10) {
                0 | 1 if !self.structs.is_empty() => Parameter::Struct(self.r.below(self.structs.len())),
                2 => {
                    let ty = self.scalar();
                    let bytes = ty.bits <= 8 && !self.features.byte_vector_insertion;
                    Parameter::Array(if bytes { Ty::unsigned(16) } else { ty }, self.r.pick(&[2, 3, 4, 8]))
                }
                _ => Parameter::Value(self.any_type()),
            });
        }
        let list = self.declared(&parameters);
        let by_struct = !recursive && !self.structs.is_empty() && self.r.percent(15);
        let result = if by_struct { None } else { Some(self.any_type()) };
        let result_struct = if by_struct { self.r.below(self.structs.len()) } else { 0 };
        self.returns = result;
        let mut body = Vec::new();
        if recursive && let Some(ty) = result {
            let value = self.value(ty, 2);
            body.push(Stmt::new("if (p0 == 0) return $0;", vec![value]));
        }
        for _ in 0..self.r.between(1, 4) {
            self.statement(2, &mut body);
        }
        self.returns = None;
        let (head, value) = match result {
            Some(ty) => {
                let mut value = self.value(ty, 3);
                if recursive {
                    let args = self.arguments_again(&parameters);
                    let again = Expr::new(ty, format!("{name}({})", args.1), args.0);
                    let text = if ty.kind == Kind::Float { "($0 - $1)" } else { "$0 ^ $1" };
                    value = Expr::new(ty, text, vec![value, again]);
                }
                (format!("static {linkage} {} {name}({list})", ty.name()), Some(value))
            }
            None => {
                let made = self.name("s");
                let types: Vec<Ty> = self.structs[result_struct].iter().map(|field| field.ty).collect();
                let args: Vec<Expr> = types.iter().map(|ty| self.value(*ty, 2)).collect();
                let holes: Vec<String> = (0..args.len()).map(|n| format!("${n:x}")).collect();
                let text = format!("struct S{result_struct} {made} = {{{}}};", holes.join(", "));
                body.push(Stmt::declaring(text, args));
                (
                    format!("static {linkage} struct S{result_struct} {name}({list})"),
                    Some(Expr::leaf(Ty::OPAQUE, made)),
                )
            }
        };
        let head = if recursive { head.replace("__attribute__((always_inline))", "NOINLINE") } else { head };
        let cost = (self.spent + 2) * if recursive { 5 } else { 1 };
        self.functions.push(Function { name: name.clone(), head, body, result: value });
        Signature { name, parameters, result, result_struct, cost, table: None }
    }

    /// Returns the declarations of the parameters, and adds them to the scope.
    fn declared(&mut self, parameters: &[Parameter]) -> String {
        let mut list = Vec::new();
        for (n, parameter) in parameters.iter().enumerate() {
            let name = format!("p{n}");
            list.push(match *parameter {
                Parameter::Value(ty) => {
                    self.add_var(&name, ty, true);
                    format!("{} {name}", ty.name())
                }
                Parameter::Depth(_) => {
                    self.add_var(&name, Ty::U32, false);
                    format!("u32 {name}")
                }
                Parameter::Struct(which) => {
                    self.add_struct(&name, which);
                    format!("struct S{which} {name}")
                }
                Parameter::Array(ty, len) => {
                    self.scope.arrays.push(Array { name: name.clone(), ty, len, writable: true });
                    format!("{} *{name}", ty.name())
                }
            });
        }
        list.join(", ")
    }

    /// Generates the arguments of a recursive call: the depth is reduced by one, arrays and structs are passed on.
    fn arguments_again(&mut self, parameters: &[Parameter]) -> (Vec<Expr>, String) {
        let args: Vec<Expr> = parameters
            .iter()
            .enumerate()
            .map(|(n, parameter)| match *parameter {
                Parameter::Value(ty) => self.expr(ty, 2),
                Parameter::Depth(_) => Expr::leaf(Ty::OPAQUE, "p0 - 1"),
                Parameter::Struct(_) | Parameter::Array(..) => Expr::leaf(Ty::OPAQUE, format!("p{n}")),
            })
            .collect();
        let holes: Vec<String> = (0..args.len()).map(|n| format!("${n:x}")).collect();
        (args, holes.join(", "))
    }

    /// Generates functions of one type, which are called through a table.
    pub(crate) fn table(&mut self) {
        let (ty, other) = (self.scalar(), self.scalar());
        let parameters = vec![Parameter::Value(ty), Parameter::Value(other)];
        let table = self.name("table");
        let mut names = Vec::new();
        let mut cost = 0;
        for _ in 0..self.r.between(2, 4) {
            let name = self.name("fn");
            self.scope = self.outside();
            (self.trips, self.spent, self.limit) = (1, 0, FUNCTION_COST);
            let list = self.declared(&parameters);
            self.returns = Some(ty);
            let mut body = Vec::new();
            for _ in 0..self.r.between(1, 3) {
                self.statement(1, &mut body);
            }
            self.returns = None;
            let result = Some(self.value(ty, 3));
            let head = format!("static NOINLINE {} {name}({list})", ty.name());
            cost += self.spent;
            self.functions.push(Function { name: name.clone(), head, body, result });
            names.push(name);
        }
        let len = names.len();
        let (t, o) = (ty.name(), other.name());
        // An empty function, after which the text has the table.
        self.functions.push(Function {
            name: table.clone(),
            head: format!(
                "static {t} (*const {table}[{len}])({t}, {o}) = {{{}}};\nstatic inline void {table}_end(void)",
                names.join(", ")
            ),
            body: Vec::new(),
            result: None,
        });
        self.signatures.push(Signature {
            name: table,
            parameters,
            result: Some(ty),
            result_struct: 0,
            cost,
            table: Some(len),
        });
    }
}
