//! Random expressions. Each is defined for all operands, and the same on host and device to the last bit.

use super::generate::{Generator, Memory, OWN_WORDS, Parameter};
use super::program::{Expr, Kind, Ty};

const COMPARISONS: [&str; 6] = ["<", ">", "<=", ">=", "==", "!="];

impl Generator {
    pub(crate) fn constant(&mut self, ty: Ty) -> Expr {
        let name = ty.name();
        if ty.lanes > 1 {
            let one = self.constant(ty.times(1));
            return Expr::new(ty, format!("(({name})($0))"), vec![one]);
        }
        let text = match ty.kind {
            Kind::Bool => return Expr::leaf(ty, if self.r.percent(50) { "1" } else { "0" }),
            Kind::Float => {
                // No zero, because some compilers replace `0 - x` with `-x` (see `known`).
                let number = match ty.bits {
                    16 => self.r.pick(&[
                        "0.5", "1.0", "-2.0", "65504.0", "6e-5", "1e-7", "3.14159", "-0.1", "1000.0",
                    ]),
                    _ => self.r.pick(&[
                        "0.5",
                        "1.0",
                        "-2.0",
                        "4.0",
                        "3.14159265358979",
                        "1e10",
                        "-1e-10",
                        "1e30",
                        "1.17549435e-38",
                        "1e-40",
                        "-0.1",
                        "12345.678",
                        "0.25",
                        "-77.123",
                    ]),
                };
                format!("(({name}){number}{})", if ty.bits == 32 { "f" } else { "" })
            }
            _ => {
                let w = u32::from(ty.bits);
                let all = if w >= 64 { u64::MAX } else { (1 << w) - 1 };
                let value = match self.r.below(10) {
                    0..=3 => self.r.bits(),
                    4..=6 => self.r.bits() >> self.r.below(64),
                    _ => {
                        let top = 1u64 << ((w - 1) % 64);
                        self.r.pick(&[
                            0,
                            1,
                            2,
                            3,
                            5,
                            7,
                            31,
                            32,
                            63,
                            64,
                            127,
                            128,
                            255,
                            0xffff,
                            u64::MAX,
                            top,
                            top - 1,
                        ])
                    }
                } & all;
                match (w > 64, self.r.bits() >> self.r.below(64)) {
                    (true, high) => format!("(({name})(((u128){high:#x}ull << 64) | {value:#x}ull))"),
                    (false, _) => format!("(({name}){value:#x}ull)"),
                }
            }
        };
        Expr::leaf(ty, text)
    }

    fn leaf(&mut self, ty: Ty) -> Expr {
        let of_type: Vec<usize> =
            (0..self.scope.vars.len()).filter(|n| self.scope.vars[*n].ty == ty).collect();
        if !of_type.is_empty() && self.r.percent(85) {
            let var = &self.scope.vars[self.r.pick(&of_type)];
            return Expr::leaf(ty, var.read.clone());
        }
        self.constant(ty)
    }

    /// Generates a condition.
    pub(crate) fn condition(&mut self, depth: u32) -> Expr {
        let ty = self.scalar();
        match self.r.below(10) {
            0..=6 => {
                let text = format!("($0 {} $1)", self.r.pick(&COMPARISONS));
                Expr::new(Ty::BOOL, text, vec![self.expr(ty, depth), self.expr(ty, depth)])
            }
            7 if depth > 0 => {
                let text = format!("($0 {} $1)", self.r.pick(&["&&", "||", "^"]));
                Expr::new(Ty::BOOL, text, vec![self.condition(depth - 1), self.condition(depth - 1)])
            }
            8 if depth > 0 => Expr::new(Ty::BOOL, "(!$0)", vec![self.condition(depth - 1)]),
            _ => {
                let bit = self.r.below(32);
                Expr::new(Ty::BOOL, format!("(($0 >> {bit}) & 1)"), vec![self.expr(Ty::U32, depth)])
            }
        }
    }

    /// Generates an expression of a type with at most `depth` levels.
    pub(crate) fn expr(&mut self, ty: Ty, depth: u32) -> Expr {
        if ty.kind == Kind::Bool {
            return self.condition(depth);
        }
        if depth == 0 || self.r.percent(12) {
            return self.leaf(ty);
        }
        if ty.lanes > 1 {
            return self.vector(ty, depth - 1);
        }
        let d = depth - 1;
        match self.r.below(100) {
            0..=5 => {
                Expr::new(ty, "($0 ? $1 : $2)", vec![self.condition(d), self.expr(ty, d), self.expr(ty, d)])
            }
            6..=17 => {
                let from = self.scalar();
                let value = self.expr(from, d);
                self.convert(value, ty)
            }
            18..=22 => self.call(ty, d).unwrap_or_else(|| self.leaf(ty)),
            23..=27 => self.element(ty, d),
            28..=32 if ty.is_integer() => self.load(ty, d),
            _ if ty.is_integer() => self.integer(ty, d),
            _ => self.float(ty, d),
        }
    }

    /// Converts a scalar to another type.
    pub(crate) fn convert(&mut self, value: Expr, to: Ty) -> Expr {
        let (from, t, f) = (value.ty, to.name(), value.ty.name());
        let text = match (from.kind == Kind::Float, to.kind == Kind::Float) {
            (false, false) => format!("(({t})$0)"),
            (true, false) if from.bits == 16 => format!("(({t})i32_from_f16($0))"),
            (true, false) if self.r.percent(20) => format!("(({t})bits_{f}($0))"),
            (true, false) if to.is_standard() => format!("{t}_from_{f}($0)"),
            (true, false) => format!("(({t})i64_from_{f}($0))"),
            // These numbers are exact in f32, so they are rounded once.
            (false, true) if to.bits == 16 => "((f16)((i32)$0 % 65504))".into(),
            // The exclusive or separates a sign extension from the bits of a float (see `known`).
            (false, true) if self.r.percent(20) => {
                format!("frombits_{t}((u{})$0 ^ {:#x}u)", to.bits, self.r.bits() as u32 & 0x3fff_ffff)
            }
            (false, true) if from.bits > 64 => format!("(({t})(u64)$0)"),
            (false, true) => format!("(({t})$0)"),
            (true, true) if from.bits == 64 && to.bits == 16 => "f16_from_f64($0)".into(),
            (true, true) => format!("(({t})$0)"),
        };
        Expr::new(to, text, vec![value])
    }

    fn integer(&mut self, ty: Ty, d: u32) -> Expr {
        let (t, w) = (ty.name(), ty.bits);
        let u = Ty { kind: Kind::Unsigned, ..ty }.name();
        let operation = self.r.below(if ty == Ty::U32 || ty == Ty::I32 { 46 } else { 34 });
        let (text, args): (String, &[Ty]) = match operation {
            0..=3 => (format!("(({t})(({u})$0 {} ({u})$1))", self.r.pick(&["+", "-"])), &[ty, ty]),
            4 | 5 => (format!("(({t})(({u})$0 * ({u})$1))"), &[ty, ty]),
            6..=9 => (format!("(({t})($0 {} $1))", self.r.pick(&["&", "|", "^"])), &[ty, ty]),
            10 | 11 if w <= 64 || self.features.wide_division => {
                (format!("{}_{t}($0, $1)", self.r.pick(&["div", "rem"])), &[ty, ty])
            }
            12 if w <= 64 => {
                let divisor = self.r.pick(&[2u64, 3, 5, 7, 10, 16, 25, 60, 63]);
                let value = if ty.kind == Kind::Unsigned { format!("hidden_{t}($0)") } else { "$0".into() };
                (format!("(({t})({value} {} ({t}){divisor}))", self.r.pick(&["/", "%"])), &[ty])
            }
            13 | 14 => (format!("(({t})(({u})$0 << ($1 % {w}u)))"), &[ty, Ty::U32]),
            15 | 16 => (format!("(({t})($0 >> ($1 % {w}u)))"), &[ty, Ty::U32]),
            17 => {
                (format!("(({t})(({u})$0 {} {}))", self.r.pick(&["<<", ">>"]), self.r.below(w.into())), &[ty])
            }
            18 => (format!("{}_{t}($0, $1)", self.r.pick(&["min", "max", "absdiff"])), &[ty, ty]),
            19 => (format!("rotl_{t}($0, $1)"), &[ty, Ty::U32]),
            20 => (format!("fshl_{t}($0, $1, $2)"), &[ty, ty, Ty::U32]),
            21 => (format!("(({t}){}_{t}($0))", self.r.pick(&["popcount", "clz", "ctz"])), &[ty]),
            22 => (format!("{}_{t}($0, $1)", self.r.pick(&["addsat", "subsat"])), &[ty, ty]),
            23 => (format!("{}_{t}($0, $1, $2)", self.r.pick(&["carry", "borrow", "clamp"])), &[ty, ty, ty]),
            24 if ty.is_standard() => {
                (format!("{}_{t}($0, $1)", self.r.pick(&["mulhi", "mulsat"])), &[ty, ty])
            }
            25 => (format!("(({t})(0 - ({u})$0))"), &[ty]),
            26 => (format!("(({t})~$0)"), &[ty]),
            27 => {
                let (shift, mask) = (self.r.below(w.into()), (1u64 << self.r.between(1, 63)) - 1);
                (format!("(({t})((({u})$0 >> {shift}) & {mask:#x}ull))"), &[ty])
            }
            28 => {
                let mask = self.r.bits();
                (format!("(({t})(($0 & ({t}){mask:#x}ull) | ($1 & ({t})~({t}){mask:#x}ull)))"), &[ty, ty])
            }
            29 => (format!("(({t})(({u})$0 * ({u})$1 + ({u})$2))"), &[ty, ty, ty]),
            30 => (
                format!(
                    "(({t})((({u})$0 {0} ({u})$1) {1} ({u})$2))",
                    self.r.pick(&["+", "^", "|", "&"]),
                    self.r.pick(&["+", "^", "|", "-"])
                ),
                &[ty, ty, ty],
            ),
            31 if matches!(w, 16 | 32 | 64) => (format!("(({t})__builtin_bswap{w}(({u})$0))"), &[ty]),
            32 if ty.is_standard() => (format!("(({t})__builtin_bitreverse{w}(({u})$0))"), &[ty]),
            33 => (format!("abs_{t}($0)"), &[ty]),
            34 => (
                format!("(({t}){}($0, $1, $2))", self.r.pick(&["alignbit", "alignbyte"])),
                &[Ty::U32, Ty::U32, Ty::U32],
            ),
            35 => (format!("(({t})perm($0, $1, $2))"), &[Ty::U32, Ty::U32, Ty::U32]),
            36 => (
                format!("(({t}){}($0, $1, $2))", self.r.pick(&["sad_u8", "sad_hi_u8", "sad_u16", "lerp"])),
                &[Ty::U32, Ty::U32, Ty::U32],
            ),
            37 => (format!("(({t})ubfe($0, $1, $2))"), &[Ty::U32, Ty::U32, Ty::U32]),
            38 => (format!("(({t})sbfe($0, $1, $2))"), &[Ty::I32, Ty::U32, Ty::U32]),
            39 => (
                format!("(({t}){}($0, $1, $2))", self.r.pick(&["udot4", "udot8"])),
                &[Ty::U32, Ty::U32, Ty::U32],
            ),
            40 => (
                format!("(({t}){}($0, $1, $2))", self.r.pick(&["sdot4", "sdot8"])),
                &[Ty::I32, Ty::I32, Ty::I32],
            ),
            41 if self.features.lanes => (format!("(({t})mbcnt($0, $1))"), &[Ty::U64, Ty::U32]),
            42 => {
                (format!("(({t})(($0 & 0xffffffu) * ($1 & 0xffffffu) + $2))"), &[Ty::U32, Ty::U32, Ty::U32])
            }
            43 => {
                (format!("(({t})(i32)(((i32)($0 << 8) >> 8) * ((i32)($1 << 8) >> 8)))"), &[Ty::U32, Ty::U32])
            }
            44 if self.features.floats => (format!("(({t})exponent_f32($0))"), &[Ty::float(32)]),
            45 if self.features.floats => (format!("(({t})class_f64($0, $1))"), &[Ty::float(64), Ty::U32]),
            _ => (format!("(({t})($0 ^ (({t})($1 >> 1))))"), &[ty, ty]),
        };
        let args = args.iter().map(|ty| self.expr(*ty, d)).collect();
        Expr::new(ty, text, args)
    }

    fn float(&mut self, ty: Ty, d: u32) -> Expr {
        let t = ty.name();
        let suffix = if ty.bits == 32 { "f" } else { "" };
        let half = ty.bits == 16;
        let (text, args): (String, &[Ty]) = match self.r.below(20) {
            0..=3 => (format!("(({t})($0 {} $1))", self.r.pick(&["+", "-"])), &[ty, ty]),
            4..=6 => (format!("(({t})($0 * $1))"), &[ty, ty]),
            7 | 8 if !half || self.features.half_division => (format!("(({t})($0 / $1))"), &[ty, ty]),
            9 | 10 if half => ("fma_f16($0, $1, $2)".into(), &[ty, ty, ty]),
            9 | 10 => (format!("__builtin_fma{suffix}($0, $1, $2)"), &[ty, ty, ty]),
            11 => ("(-$0)".into(), &[ty]),
            12 if half => ("abs_f16($0)".into(), &[ty]),
            12 => (format!("__builtin_fabs{suffix}($0)"), &[ty]),
            13 if half => (format!("{}_f16($0)", self.r.pick(&["floor", "trunc", "rint"])), &[ty]),
            13 => (
                format!(
                    "__builtin_{}{suffix}($0)",
                    self.r.pick(&["floor", "ceil", "trunc", "rint", "round"])
                ),
                &[ty],
            ),
            14 => (format!("copysign_{t}($0, $1)"), &[ty, ty]),
            15 => (format!("{}_{t}($0, $1)", self.r.pick(&["min", "max"])), &[ty, ty]),
            16 if !half => (format!("clamp_{t}($0, $1, $2)"), &[ty, ty, ty]),
            17 if half && self.features.square_root => ("sqrt_f16($0)".into(), &[ty]),
            17 if !half && self.features.square_root => (format!("__builtin_sqrt{suffix}($0)"), &[ty]),
            18 if !half => (format!("ldexp_{t}($0, $1)"), &[ty, Ty::I32]),
            19 if !half => (format!("{}_{t}($0)", self.r.pick(&["fract", "mantissa"])), &[ty]),
            16 if ty.bits == 32 => ("median_f32($0, $1, $2)".into(), &[ty, ty, ty]),
            17 if ty.bits == 32 => ("ubyte($0, $1)".into(), &[Ty::U32, Ty::U32]),
            _ => (format!("($0 {} $1 ? $2 : $3)", self.r.pick(&COMPARISONS)), &[ty, ty, ty, ty]),
        };
        let args = args.iter().map(|ty| self.expr(*ty, d)).collect();
        Expr::new(ty, text, args)
    }

    fn vector(&mut self, ty: Ty, d: u32) -> Expr {
        let (t, n, w) = (ty.name(), usize::from(ty.lanes), ty.bits);
        let one = ty.times(1);
        let float = ty.kind == Kind::Float;
        let m = Ty { kind: Kind::Signed, ..ty }.name();
        let (text, args): (String, Vec<Ty>) = match self.r.below(17) {
            0 | 1 => (format!("($0 {} $1)", self.r.pick(&["+", "-"])), vec![ty; 2]),
            2 => ("($0 * $1)".into(), vec![ty; 2]),
            3 | 4 if !float => (format!("($0 {} $1)", self.r.pick(&["&", "|", "^"])), vec![ty; 2]),
            5 if !float => {
                (format!("($0 {} ($1 & ({t}){}))", self.r.pick(&["<<", ">>"]), w - 1), vec![ty; 2])
            }
            6 if !float => {
                (format!("($0 {} {})", self.r.pick(&["<<", ">>"]), self.r.below(w.into())), vec![ty])
            }
            7 if !float => (
                format!(
                    "__builtin_elementwise_{}($0, $1)",
                    self.r.pick(&["min", "max", "add_sat", "sub_sat"])
                ),
                vec![ty; 2],
            ),
            8 if !float => {
                let compare = self.r.pick(&COMPARISONS);
                (format!("BLEND({t}, ({t})($0 {compare} $1), $2, $3)"), vec![ty; 4])
            }
            8 => {
                // The mask is converted to numbers, as floats have no bitwise operators.
                let compare = self.r.pick(&COMPARISONS);
                (format!("(__builtin_convertvector(({m})($0 {compare} $1), {t}) + $2)"), vec![ty; 3])
            }
            9 => (format!("(({t})($0))"), vec![one]),
            10 | 11 => {
                let parts: Vec<String> = (0..n).map(|k| format!("${k:x}")).collect();
                (format!("(({t}){{{}}})", parts.join(", ")), vec![one; n])
            }
            12 | 13 => {
                let lanes: Vec<String> = (0..n).map(|_| self.r.below(2 * n).to_string()).collect();
                (format!("__builtin_shufflevector($0, $1, {})", lanes.join(", ")), vec![ty; 2])
            }
            14 if !float => {
                let other = if self.features.wide_vectors { self.r.pick(&[8, 16, 32, 64]) } else { w };
                let from = Ty { bits: other, ..ty };
                (format!("__builtin_convertvector($0, {t})"), vec![from])
            }
            14 if w >= 32 => {
                (format!("__builtin_convertvector($0, {t})"), vec![Ty::signed(16).times(ty.lanes)])
            }
            15 => ("(-$0)".into(), vec![ty]),
            _ if !float => ("(~$0)".into(), vec![ty]),
            _ => ("($0 + $1)".into(), vec![ty; 2]),
        };
        let args = args.iter().map(|ty| self.expr(*ty, d)).collect();
        Expr::new(ty, text, args)
    }

    /// Generates a lane of a vector, or an element of an array.
    fn element(&mut self, ty: Ty, d: u32) -> Expr {
        if !self.scope.arrays.is_empty() && self.r.percent(60) {
            let array = self.scope.arrays[self.r.below(self.scope.arrays.len())].clone();
            let at = self.expr(Ty::U32, d);
            let value = Expr::new(array.ty, format!("{}[$0 % {}u]", array.name, array.len), vec![at]);
            return self.scalar_of(value, ty, d);
        }
        if self.features.vectors && ty.is_standard() {
            let of = self.vector_of(ty);
            let (vector, lanes) = (self.expr(of, d), of.lanes);
            if self.r.percent(60) {
                return Expr::new(ty, format!("($0)[{}]", self.r.below(lanes.into())), vec![vector]);
            }
            return Expr::new(ty, format!("($0)[$1 % {lanes}u]"), vec![vector, self.expr(Ty::U32, d)]);
        }
        self.leaf(ty)
    }

    /// Converts a value of any type to a scalar. Of a vector it uses one lane.
    fn scalar_of(&mut self, value: Expr, to: Ty, d: u32) -> Expr {
        let one = value.ty.times(1);
        let lanes = value.ty.lanes;
        let scalar = match lanes {
            1 => value,
            _ => Expr::new(one, format!("($0)[$1 % {lanes}u]"), vec![value, self.expr(Ty::U32, d)]),
        };
        if scalar.ty == to { scalar } else { self.convert(scalar, to) }
    }

    /// Generates a call of an existing function, if one has the type.
    fn call(&mut self, ty: Ty, d: u32) -> Option<Expr> {
        let fits: Vec<usize> = (0..self.signatures.len())
            .filter(|n| {
                let s = &self.signatures[*n];
                s.result.is_some() && self.affordable(s.cost) && self.has_arguments(&s.parameters)
            })
            .collect();
        if fits.is_empty() {
            return None;
        }
        let signature = self.signatures[self.r.pick(&fits)].clone();
        self.spend(signature.cost);
        let mut args = self.arguments(&signature.parameters, d);
        let result = signature.result?;
        let holes: Vec<String> = (0..args.len()).map(|n| format!("${n:x}")).collect();
        let callee = match signature.table {
            Some(len) => {
                args.push(self.expr(Ty::U32, d));
                format!("{}[${:x} % {len}u]", signature.name, args.len() - 1)
            }
            None => signature.name,
        };
        let value = Expr::new(result, format!("{callee}({})", holes.join(", ")), args);
        Some(self.scalar_of(value, ty, d))
    }

    /// Generates arguments for parameters, for which [`has_arguments`](Self::has_arguments) must be true.
    pub(crate) fn arguments(&mut self, parameters: &[Parameter], d: u32) -> Vec<Expr> {
        parameters
            .iter()
            .map(|parameter| match *parameter {
                Parameter::Value(ty) => self.expr(ty, d),
                Parameter::Depth(most) => {
                    Expr::new(Ty::U32, format!("($0 % {most}u)"), vec![self.expr(Ty::U32, d)])
                }
                Parameter::Struct(which) => {
                    let names: Vec<&String> =
                        self.scope.structs.iter().filter(|s| s.1 == which).map(|s| &s.0).collect();
                    let name = names[self.r.below(names.len())];
                    Expr::leaf(Ty::OPAQUE, name.clone())
                }
                Parameter::Array(ty, len) => {
                    let fits: Vec<&String> = self
                        .scope
                        .arrays
                        .iter()
                        .filter(|a| a.ty == ty && a.len >= len && a.writable)
                        .map(|a| &a.name)
                        .collect();
                    Expr::leaf(Ty::OPAQUE, fits[self.r.below(fits.len())].clone())
                }
            })
            .collect()
    }

    pub(crate) fn has_arguments(&self, parameters: &[Parameter]) -> bool {
        parameters.iter().all(|parameter| match *parameter {
            Parameter::Value(_) | Parameter::Depth(_) => true,
            Parameter::Struct(which) => self.scope.structs.iter().any(|s| s.1 == which),
            Parameter::Array(ty, len) => {
                self.scope.arrays.iter().any(|a| a.ty == ty && a.len >= len && a.writable)
            }
        })
    }

    /// Generates a load from memory, or a leaf where there is no memory.
    fn load(&mut self, ty: Ty, d: u32) -> Expr {
        let Some(memory) = self.memory else { return self.leaf(ty) };
        let (from, text): (Ty, String) = match self.r.below(9) {
            6 => {
                let of =
                    self.r.pick(&[Ty::signed(16), Ty::unsigned(16), Ty::U32, Ty::U64, Ty::unsigned(128)]);
                (of, format!("peek_{}(in, $0 % 4080u)", of.name()))
            }
            7 if memory == Memory::Own => {
                let of =
                    self.r.pick(&[Ty::signed(16), Ty::unsigned(16), Ty::U32, Ty::U64, Ty::unsigned(128)]);
                (of, format!("peek_lds_{}(lds + s->lid * LDS_WORDS, $0 % 17u)", of.name()))
            }
            // All lanes load the same word.
            8 => {
                let text = format!("in[(param + {}u) % 1024u]", self.r.below(1024));
                let value = Expr::leaf(Ty::U32, text);
                return self.convert(value, ty);
            }
            0 => (Ty::U32, "in[$0 % 1024u]".into()),
            1 => (Ty::U32, "own[$0 % OWN_WORDS]".into()),
            2 => {
                let (of, count) = self.r.pick(&[
                    (Ty::unsigned(8), 4 * OWN_WORDS),
                    (Ty::signed(8), 4 * OWN_WORDS),
                    (Ty::signed(16), 2 * OWN_WORDS),
                    (Ty::unsigned(16), 2 * OWN_WORDS),
                    (Ty::U64, OWN_WORDS / 2),
                ]);
                (of, format!("((GLOB {}*)own)[$0 % {count}u]", of.name()))
            }
            3 if memory == Memory::Own => (Ty::U32, "lds[s->lid * LDS_WORDS + $0 % LDS_WORDS]".into()),
            3 | 4 if memory == Memory::Read => (Ty::U32, "lds[$0 % (BLOCK * LDS_WORDS)]".into()),
            5 if memory == Memory::Read => (Ty::U64, "counters[$0 % (OPERATIONS * SHARED)]".into()),
            _ => return Expr::new(ty, format!("(({})(param + $0))", ty.name()), vec![self.expr(Ty::U32, d)]),
        };
        let value = Expr::new(from, text, vec![self.expr(Ty::U32, d)]);
        self.convert(value, ty)
    }
}
