//! Reduces a program while it still shows a difference.

use std::time::Instant;

use super::program::{Expr, Kind, Program, Stmt};

/// Returns the smallest program, of those found before the deadline, for which `shows` is true.
pub(crate) fn reduce(
    program: Program,
    deadline: Instant,
    shows: &mut dyn FnMut(&Program) -> bool,
) -> Program {
    let mut reducer = Reducer { best: program, deadline, shows };
    loop {
        let before = reducer.best.text().len();
        reducer.shape();
        reducer.statements();
        reducer.unused_functions();
        reducer.unwrap_blocks();
        reducer.expressions();
        reducer.unused_functions();
        if reducer.best.text().len() >= before || reducer.late() {
            reducer.deadline = Instant::now() + std::time::Duration::from_secs(10);
            reducer.unused_functions();
            return reducer.best;
        }
    }
}

struct Reducer<'a> {
    best: Program,
    deadline: Instant,
    shows: &'a mut dyn FnMut(&Program) -> bool,
}

impl Reducer<'_> {
    fn late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Keeps a candidate if `shows` is true for it. Returns whether it was kept.
    fn attempt(&mut self, candidate: Program) -> bool {
        let keep = !self.late() && (self.shows)(&candidate);
        if keep {
            self.best = candidate;
        }
        keep
    }

    fn shape(&mut self) {
        for grid in [[1, 1, 1], [2, 1, 1]] {
            for block in [[1, 1, 1], [64, 1, 1]] {
                let mut candidate = self.best.clone();
                if candidate.shape.items() > (grid[0] * block[0]) as usize {
                    (candidate.shape.grid, candidate.shape.block) = (grid, block);
                    self.attempt(candidate);
                }
            }
        }
        if !self.best.attributes.is_empty() {
            let candidate = Program { attributes: String::new(), ..self.best.clone() };
            self.attempt(candidate);
        }
    }

    /// Tries to change ranges of parts, from half of all parts down to single ones. `change` changes a range of a
    /// program, and returns the number of parts.
    fn ranges(&mut self, change: impl Fn(&mut Program, usize, usize) -> usize) {
        let mut size = change(&mut self.best.clone(), 0, 0).div_ceil(2).max(1);
        loop {
            let mut at = 0;
            loop {
                let mut candidate = self.best.clone();
                let count = change(&mut candidate, at, at + size);
                if at >= count || self.late() {
                    break;
                }
                let taken = candidate.text() != self.best.text() && self.attempt(candidate);
                // If parts were removed, the next ones now have these numbers; if parts were only simplified, they
                // don't.
                let removed = taken && change(&mut self.best.clone(), 0, 0) < count;
                at += if removed { 0 } else { size };
            }
            if size == 1 {
                return;
            }
            size = size.div_ceil(2);
        }
    }

    fn statements(&mut self) {
        // First removes statements that declare nothing, without which the rest compiles; then declarations, most of
        // which are no longer needed.
        for declarations in [false, true] {
            self.ranges(|program, from, to| {
                let mut n = 0;
                each_block(program, &mut |block| remove(block, &mut n, from, to, declarations));
                n
            });
        }
    }

    fn unwrap_blocks(&mut self) {
        self.ranges(|program, from, to| {
            let mut n = 0;
            each_block(program, &mut |block| unwrap(block, &mut n, from, to));
            n
        });
    }

    fn expressions(&mut self) {
        // Replaces expressions with zero, then with one of their own arguments.
        self.ranges(|program, from, to| {
            let mut n = 0;
            each_expr(program, &mut |expr| {
                let hit = (from..to).contains(&n);
                n += 1;
                if hit && expr.ty.kind != Kind::Opaque {
                    *expr = Expr::zero(expr.ty);
                }
                !hit
            });
            n
        });
        for which in 0..3 {
            self.ranges(|program, from, to| {
                let mut n = 0;
                each_expr(program, &mut |expr| {
                    let hit = (from..to).contains(&n);
                    n += 1;
                    if hit
                        && let Some(arg) =
                            expr.args.iter().filter(|arg| arg.ty == expr.ty).nth(which).cloned()
                    {
                        *expr = arg;
                    }
                    !hit
                });
                n
            });
        }
    }

    fn unused_functions(&mut self) {
        loop {
            let text = self.best.text();
            let mut candidate = self.best.clone();
            candidate.functions.retain(|f| {
                f.name == "start"
                    || f.name == "finish"
                    || mentions(&text, &f.name) > 1
                    || text.contains(&in_macro(&f.name))
            });
            if candidate.functions.len() == self.best.functions.len() || !self.attempt(candidate) {
                return;
            }
        }
    }
}

/// Returns the name of a function in the kernel's macros.
fn in_macro(name: &str) -> String {
    match name.find(|c: char| c.is_ascii_digit()) {
        Some(at) if name.starts_with("phase") => format!("PHASE({})", &name[at..]),
        Some(at) if ["guard", "a", "b", "put"].contains(&&name[..at]) => format!("({},", &name[at..]),
        _ => format!("{name}("),
    }
}

/// Returns how often a text has a name as a whole word.
fn mentions(text: &str, name: &str) -> usize {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(name)
        .filter(|(at, _)| {
            !part(text[..*at].chars().next_back()) && !part(text[at + name.len()..].chars().next())
        })
        .count()
}

fn each_block(program: &mut Program, f: &mut dyn FnMut(&mut Vec<Stmt>)) {
    f(&mut program.kernel);
    // The function that initialises the state is kept, as nothing may be read that wasn't written.
    let others = program.functions.iter_mut().filter(|function| function.name != "start");
    others.for_each(|function| f(&mut function.body));
}

/// Removes the statements whose numbers are in the range. Outer statements are counted before those in them.
fn remove(block: &mut Vec<Stmt>, n: &mut usize, from: usize, to: usize, declarations: bool) {
    block.retain_mut(|stmt| {
        let hit = (from..to).contains(n);
        *n += 1;
        // Without a barrier, the result would not be defined.
        if hit && (declarations || !stmt.declares) && stmt.text != "BARRIER" {
            return false;
        }
        stmt.blocks.iter_mut().for_each(|block| remove(block, n, from, to, declarations));
        true
    });
}

/// Replaces statements with their blocks.
fn unwrap(block: &mut Vec<Stmt>, n: &mut usize, from: usize, to: usize) {
    let mut out = Vec::new();
    for mut stmt in block.drain(..) {
        if stmt.blocks.is_empty() {
            out.push(stmt);
            continue;
        }
        let hit = (from..to).contains(n);
        *n += 1;
        stmt.blocks.iter_mut().for_each(|block| unwrap(block, n, from, to));
        if hit {
            out.extend(stmt.blocks.into_iter().flatten());
        } else {
            out.push(stmt);
        }
    }
    *block = out;
}

/// Calls `f` with all expressions, outer ones first. `f` returns whether to visit the arguments.
fn each_expr(program: &mut Program, f: &mut dyn FnMut(&mut Expr) -> bool) {
    fn expr(e: &mut Expr, f: &mut dyn FnMut(&mut Expr) -> bool) {
        if f(e) {
            e.args.iter_mut().for_each(|arg| expr(arg, f));
        }
    }
    fn stmts(block: &mut [Stmt], f: &mut dyn FnMut(&mut Expr) -> bool) {
        for stmt in block {
            stmt.exprs.iter_mut().for_each(|e| expr(e, f));
            stmt.blocks.iter_mut().for_each(|block| stmts(block, f));
        }
    }
    stmts(&mut program.kernel, f);
    for function in &mut program.functions {
        stmts(&mut function.body, f);
        if let Some(result) = &mut function.result {
            expr(result, f);
        }
    }
}
