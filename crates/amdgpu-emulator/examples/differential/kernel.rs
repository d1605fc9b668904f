//! Random kernels: phases that every work-item runs, operations across lanes between them, and the state that they pass
//! on.

use super::generate::{COST, Generator, Memory};
use super::program::{Expr, Function, Kind, Program, Shape, Stmt, Ty};

impl Generator {
    pub(crate) fn program(mut self, seed: u64, size: usize) -> Program {
        let block = self.r.pick(&[
            [64, 1, 1],
            [64, 1, 1],
            [128, 1, 1],
            [100, 1, 1],
            [16, 4, 2],
            [7, 5, 3],
            [256, 1, 1],
        ]);
        let grid = self.r.pick(&[[2, 1, 1], [3, 1, 1], [2, 2, 1], [1, 2, 2]]);
        let shape = Shape { grid, block, param: self.r.bits() as u32 >> self.r.below(30) };
        let attributes = if self.features.kernel_attributes {
            self.r.pick(&[
                "",
                "",
                "",
                "__attribute__((amdgpu_waves_per_eu(8)))",
                "__attribute__((amdgpu_num_vgpr(32)))",
            ])
        } else {
            ""
        };
        let mut types = self.struct_types();
        types.push_str(&self.constant_tables());
        for n in 0..self.r.below(2 + size / 3) {
            let signature = self.function(n % 4 == 3);
            self.signatures.push(signature);
        }
        if self.r.percent(20) {
            self.table();
        }

        // The state, which phases and operations across lanes pass on.
        let mut state: Vec<Ty> = vec![Ty::U32, Ty::U32, Ty::I32, Ty::U64];
        for _ in 0..self.r.between(2, 8) {
            state.push(self.any_type());
        }
        types.push_str("struct Lane {\n  u32 tid, lid;\n");
        for (n, ty) in state.iter().enumerate() {
            types.push_str(&format!("  {} x{n};\n", ty.name()));
        }
        types.push_str("};\n");
        self.start(&state);

        let mut kernel = Vec::new();
        let mut last = Memory::Own;
        let mut phases = 0;
        while phases < size.div_ceil(4) {
            self.step(&state, &mut kernel, &mut last, &mut phases, true);
        }
        self.finish(&state);
        Program { seed, shape, attributes: attributes.into(), types, functions: self.functions, kernel }
    }

    fn enter_lane(&mut self, state: &[Ty], pointer: bool) {
        self.scope = self.outside();
        for name in ["s->tid", "s->lid"] {
            self.add_var(name, Ty::U32, false);
        }
        for (n, ty) in state.iter().enumerate() {
            self.add_var(&format!("s->x{n}"), *ty, pointer);
        }
    }

    fn step(
        &mut self,
        state: &[Ty],
        out: &mut Vec<Stmt>,
        last: &mut Memory,
        phases: &mut usize,
        outer: bool,
    ) {
        match self.r.below(10) {
            0..=3 => {
                let memory = self.r.pick(&[Memory::Own, Memory::Own, Memory::Read, Memory::Count]);
                if memory != Memory::Own || *last != Memory::Own {
                    out.push(Stmt::new("BARRIER", vec![]));
                }
                *last = memory;
                *phases += 1;
                let n = self.phase(state, memory);
                out.push(Stmt::new(format!("PHASE({n})"), vec![]));
            }
            4..=7 if self.features.lanes => self.cross(state, out),
            8 | 9 if outer => {
                // The barrier is executed whether the block runs or not.
                out.push(Stmt::new("BARRIER", vec![]));
                let trips = self.r.between(2, 4);
                let i = self.name("k");
                self.trips *= trips;
                let mut body = vec![Stmt::new("BARRIER", vec![])];
                let mut inside = Memory::Own;
                for _ in 0..self.r.between(1, 3) {
                    self.step(state, &mut body, &mut inside, phases, false);
                }
                body.push(Stmt::new("BARRIER", vec![]));
                self.trips /= trips;
                let text = match self.r.below(4) {
                    0 => "if (group & 1) @0".into(),
                    1 => format!("if (param & {}) @0", 1 << self.r.below(4)),
                    2 => format!("for (u32 {i} = 0; {i} < param % {trips}u + 1u; {i}++) @0"),
                    _ => format!("for (u32 {i} = 0; {i} < {trips}u; {i}++) @0"),
                };
                out.push(Stmt::with(text, vec![], vec![body]));
                *last = Memory::Own;
            }
            _ => {}
        }
    }

    /// Generates a phase: a function that every work-item runs on its state.
    fn phase(&mut self, state: &[Ty], memory: Memory) -> usize {
        self.names += 1;
        let n = self.names;
        self.enter_lane(state, true);
        self.memory = Some(memory);
        // The limit of each phase is a part of the whole.
        (self.spent, self.limit) = (0, COST / 4);
        let mut body = Vec::new();
        for _ in 0..self.r.between(3, 7) {
            self.statement(3, &mut body);
        }
        self.memory = None;
        let linkage = match self.features.lds_in_functions {
            true => self.r.pick(&["", "", "__attribute__((always_inline)) ", "NOINLINE "]),
            false => "__attribute__((always_inline)) ",
        };
        let head = format!("static {linkage}void phase{n}(PARAMETERS)");
        self.functions.push(Function { name: format!("phase{n}"), head, body, result: None });
        n
    }

    /// Generates an operation across lanes: the lanes that take part, their operands, and the destination of the
    /// result.
    fn cross(&mut self, state: &[Ty], out: &mut Vec<Stmt>) {
        self.names += 1;
        let n = self.names;
        self.enter_lane(state, false);
        let guard = if self.r.percent(50) { Expr::leaf(Ty::BOOL, "1") } else { self.condition(2) };
        let (a, b) = (self.expr(Ty::U32, 2), self.expr(Ty::U32, 2));
        let mut add = |name: String, ty: &str, result: Expr| {
            let head = format!("static {ty} {name}(const struct Lane *s)");
            self.functions.push(Function { name, head, body: Vec::new(), result: Some(result) });
        };
        add(format!("guard{n}"), "int", guard);
        add(format!("a{n}"), "u32", a);
        add(format!("b{n}"), "u32", b);
        let integers: Vec<usize> =
            (0..state.len()).filter(|n| state[*n].is_integer() && state[*n].lanes == 1).collect();
        let to = self.r.pick(&integers);
        let text = format!("s->x{to} = ({})r;", state[to].name());
        self.functions.push(Function {
            name: format!("put{n}"),
            head: format!("static void put{n}(struct Lane *s, u64 r)"),
            body: vec![Stmt::new(text, vec![])],
            result: None,
        });
        let text = match self.r.below(12) {
            0 => format!("CROSS({n}, READ_FIRST)"),
            1 => format!("CROSS({n}, READ_LAST)"),
            2 => format!("CROSS({n}, {})", self.r.pick(&["BALLOT", "BALLOT_SIGNED", "BALLOT_EQUAL"])),
            3 | 4 => format!("CROSS({n}, GATHER)"),
            5 => format!("CROSS({n}, SCATTER)"),
            6 | 7 => {
                let pattern = match self.r.percent(30) {
                    true => 0x8000 | self.r.below(256),
                    false => self.r.below(0x8000),
                };
                format!("CROSS_SWIZZLE({n}, {pattern:#x})")
            }
            _ => {
                let control = match self.r.below(4) {
                    0 => self.r.below(256),
                    1 => self.r.pick(&[0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143]),
                    _ => self.r.pick(&[0x100, 0x110, 0x120]) + self.r.between(1, 15),
                };
                let rows = if self.r.percent(60) { 15 } else { self.r.below(16) };
                let banks = if self.r.percent(60) { 15 } else { self.r.below(16) };
                format!("CROSS_DPP({n}, {control:#x}, {rows}, {banks}, {})", self.r.below(2))
            }
        };
        out.push(Stmt::new(text, vec![]));
    }

    /// Generates the function that initialises the state from the input.
    fn start(&mut self, state: &[Ty]) {
        let mut body = Vec::new();
        for (n, ty) in state.iter().enumerate() {
            let one = ty.times(1);
            let word = Expr::leaf(
                Ty::U64,
                format!("(in[(s->tid * 7u + {n}u) % 1024u] ^ ((u64)in[(s->tid * 5u + {n}u) % 1024u] << 32))"),
            );
            let value = self.convert(word, one);
            body.push(Stmt::new(format!("s->x{n} = ({})($0);", ty.name()), vec![value]));
        }
        let head = "static void start(struct Lane *s, const GLOB u32 *in)".into();
        self.functions.push(Function { name: "start".into(), head, body, result: None });
    }

    /// Generates the function that returns a hash of the state.
    fn finish(&mut self, state: &[Ty]) {
        let mut body = vec![Stmt::new("u64 h = 0;", vec![])];
        for (n, ty) in state.iter().enumerate() {
            for lane in 0..ty.lanes {
                let place = if ty.lanes > 1 { format!("s->x{n}[{lane}]") } else { format!("s->x{n}") };
                let bits = match ty.kind {
                    Kind::Float => format!("bits_f{}({place})", ty.bits),
                    _ if ty.bits > 64 => format!("(u64){place} ^ (u64)({place} >> 64)"),
                    _ => format!("(u64){place}"),
                };
                body.push(Stmt::new(
                    format!("h = h * 0x9e3779b97f4a7c15ull + (h >> 29) + ({bits});"),
                    vec![],
                ));
            }
        }
        let head = "static u64 finish(const struct Lane *s)".into();
        self.functions.push(Function {
            name: "finish".into(),
            head,
            body,
            result: Some(Expr::leaf(Ty::OPAQUE, "h")),
        });
    }
}
