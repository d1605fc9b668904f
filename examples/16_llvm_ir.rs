//! A small JIT compiler: expressions over two arrays become LLVM IR, and that becomes kernels. Four threads launch a kernel while
//! it is replaced by other expressions, and a compiled graph goes on with the last one.
//!
//! This needs ROCm's comgr, or clang and lld. Without them, the example prints what to install and ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use hiplaunch::compile::{CompileError, Input};
use hiplaunch::graph::GraphArg;
use hiplaunch::{Arg, Compiler, DeviceBuffer, KernelHandle, LaunchDims, Launcher};

const N: usize = 1000;
const THREADS: usize = 4;
/// What is compiled, in this order.
const EXPRESSIONS: [&str; 5] = ["x + y", "x * (y - 2)", "(x - y) * (x + y)", "x / (y + 3) - 0.5", "-x * -y"];

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// An expression over the elements `x` and `y` of two arrays.
enum Expression {
    X,
    Y,
    Number(f32),
    Operation(char, Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Reads an expression of one precedence: 0 is sums, 1 is products, 2 is what signs and parentheses bind. Takes its letters from
    /// the front of `text`.
    fn parse(text: &mut &str, precedence: usize) -> Result<Expression> {
        let next = |text: &mut &str| {
            *text = text.trim_start();
            text.chars().next()
        };
        let Some(operators) = ["+-", "*/"].get(precedence) else {
            let first = next(text).ok_or("the expression ends too soon")?;
            if first.is_ascii_digit() {
                let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
                let (number, rest) = text.split_at(end);
                *text = rest;
                return Ok(Expression::Number(number.parse()?));
            }
            *text = &text[first.len_utf8()..];
            return Ok(match first {
                'x' => Expression::X,
                'y' => Expression::Y,
                '-' => {
                    let negated = Expression::parse(text, 2)?;
                    Expression::Operation('-', Box::new(Expression::Number(-0.0)), Box::new(negated))
                }
                '(' => {
                    let inner = Expression::parse(text, 0)?;
                    *text = text.trim_start().strip_prefix(')').ok_or("a parenthesis is not closed")?;
                    inner
                }
                other => return Err(format!("`{other}` is no expression").into()),
            });
        };
        let mut left = Expression::parse(text, precedence + 1)?;
        while let Some(operator) = next(text).filter(|c| operators.contains(*c)) {
            *text = &text[1..];
            let right = Expression::parse(text, precedence + 1)?;
            left = Expression::Operation(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn evaluate(&self, x: f32, y: f32) -> f32 {
        match self {
            Expression::X => x,
            Expression::Y => y,
            Expression::Number(number) => *number,
            Expression::Operation(operator, left, right) => {
                let (left, right) = (left.evaluate(x, y), right.evaluate(x, y));
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        }
    }

    /// Writes instructions, and returns the name of the value.
    fn emit(&self, ir: &mut Vec<String>) -> String {
        match self {
            Expression::X => "%x".to_owned(),
            Expression::Y => "%y".to_owned(),
            // LLVM writes a float as the bits of a double.
            Expression::Number(number) => format!("0x{:016X}", f64::from(*number).to_bits()),
            Expression::Operation(operator, left, right) => {
                let (left, right) = (left.emit(ir), right.emit(ir));
                let name = match operator {
                    '+' => "fadd",
                    '-' => "fsub",
                    '*' => "fmul",
                    _ => "fdiv",
                };
                let value = format!("%v{}", ir.len());
                ir.push(format!("  {value} = {name} float {left}, {right}"));
                value
            }
        }
    }
}

/// Returns a kernel in LLVM IR.
fn kernel(expression: &Expression) -> String {
    let mut instructions = Vec::new();
    let value = expression.emit(&mut instructions);
    format!(
        r#"target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @expression(ptr addrspace(1) %xs, ptr addrspace(1) %ys, ptr addrspace(1) %out, i32 %n) #0 {{
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %first = mul i32 %block, 256
  %i = add i32 %first, %lane
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %element, label %end
element:
  %px = getelementptr float, ptr addrspace(1) %xs, i32 %i
  %py = getelementptr float, ptr addrspace(1) %ys, i32 %i
  %po = getelementptr float, ptr addrspace(1) %out, i32 %i
  %x = load float, ptr addrspace(1) %px
  %y = load float, ptr addrspace(1) %py
{}
  store float {value}, ptr addrspace(1) %po
  br label %end
end:
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,256" }}
"#,
        instructions.join("\n")
    )
}

/// Launches the handle's kernel until all expressions have had their turn. Each result is that of one expression, whole.
fn launch(
    launcher: &Launcher,
    handle: KernelHandle,
    expressions: &[Expression],
    current: &AtomicUsize,
) -> Result<usize> {
    let stream = launcher.stream(launcher.device(0)?)?;
    let x: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
    let y: Vec<f32> = (0..N).map(|i| (i % 7) as f32).collect();
    let args = [Arg::input(&x), Arg::input(&y), Arg::output::<f32>(N), Arg::from(N as i32)];
    let mut launches = 0;
    loop {
        let before = current.load(Ordering::Acquire);
        // SAFETY: every kernel of the handle takes arrays of as many elements as the last argument says.
        let ticket = unsafe { launcher.launch(handle, &stream, LaunchDims::cover(N as u32, 256), &args)? };
        // A replacement takes effect before `current` says so, by one at most.
        let after = (current.load(Ordering::Acquire) + 1).min(expressions.len() - 1);
        let result = ticket.read()?;
        let result = result.slice::<f32>(0)?;
        let is = |expression: &Expression| (0..N).all(|i| result[i] == expression.evaluate(x[i], y[i]));
        if !expressions[before..=after].iter().any(is) {
            return Err("a result is of no expression that was the kernel's".into());
        }
        launches += 1;
        if before == expressions.len() - 1 {
            return Ok(launches);
        }
    }
}

fn main() -> Result<()> {
    // The validation layer checks that memory and modules outlive the kernels that use them.
    let launcher = Launcher::builder().validate(true).build()?;
    let device = launcher.device(0)?;
    let compiler = Compiler::new(&device.properties().target);
    let compile = |ir: &str, name: &'static str| compiler.compile_inputs(&[Input::llvm_ir(ir).named(name)]);
    let expressions: Vec<Expression> =
        EXPRESSIONS.iter().map(|text| Expression::parse(&mut &**text, 0)).collect::<Result<_>>()?;
    let code = match compile(&kernel(&expressions[0]), EXPRESSIONS[0]) {
        Ok(code) => code,
        Err(missing @ (CompileError::NotFound { .. } | CompileError::UnknownTarget { .. })) => {
            println!("{missing}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    // SAFETY: the kernel is the one above.
    let handle = unsafe { launcher.register(device, code.elf(), "expression")? };

    let current = AtomicUsize::new(0);
    let launches = std::thread::scope(|scope| {
        let (launcher, expressions, current) = (&launcher, &expressions, &current);
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(move || {
                    launch(launcher, handle, expressions, current).map_err(|error| error.to_string())
                })
            })
            .collect();
        let replaced = (1..expressions.len()).try_for_each(|next| {
            let code = compile(&kernel(&expressions[next]), EXPRESSIONS[next])?;
            // SAFETY: as above. Launches of the old kernel may run meanwhile.
            unsafe { launcher.replace(handle, code.elf(), "expression")? };
            current.store(next, Ordering::Release);
            Ok::<(), Box<dyn std::error::Error>>(())
        });
        // After an error, too, the threads must end.
        current.store(expressions.len() - 1, Ordering::Release);
        let launches =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        let launches = launches.sum::<std::result::Result<usize, String>>();
        replaced.and(Ok(launches?))
    })?;
    println!(
        "{launches} launches on {THREADS} threads, of {} kernels one after the other",
        expressions.len()
    );

    // A compiled graph goes on with the kernel that replaced the recorded one, and with other buffers.
    let stream = launcher.stream(device)?;
    let inputs: Vec<_> = (1..4)
        .map(|k| DeviceBuffer::from_slice(&stream, &[k as f32; N]))
        .collect::<hiplaunch::Result<_>>()?;
    let out = DeviceBuffer::<f32>::on(&stream, N)?;
    let mut graph = launcher.graph(device)?;
    let (x, y, to) = (graph.buffer(&inputs[0])?, graph.buffer(&inputs[1])?, graph.buffer(&out)?);
    let args = [GraphArg::Read(x), GraphArg::Read(y), GraphArg::Write(to), GraphArg::from(N as i32)];
    // SAFETY: the kernels access the N elements of these values.
    unsafe { graph.launch(handle, LaunchDims::cover(N as u32, 256), &args)? };
    graph.read(&to)?;
    let mut graph = graph.compile(&stream)?;
    for (round, (expression, text)) in expressions.iter().zip(EXPRESSIONS).enumerate() {
        let code = compile(&kernel(expression), text)?; // from the cache on disk, unless it is off
        // SAFETY: as above.
        unsafe { launcher.replace(handle, code.elf(), "expression")? };
        let (i, j) = (round % 3, (round + 1) % 3);
        graph.set_buffer(&x, &inputs[i])?;
        graph.set_buffer(&y, &inputs[j])?;
        let result = graph.submit()?.read()?.slice::<f32>(0)?.to_vec();
        let expected = expression.evaluate((i + 1) as f32, (j + 1) as f32);
        println!("{text} of {} and {} is {expected}", i + 1, j + 1);
        assert_eq!(result, [expected; N]);
    }

    // The error for wrong IR has the compiler's log, with the line.
    let Err(error) = compile("define void @f() {\n  rat void\n}\n", "wrong") else {
        return Err("no instruction is called rat".into());
    };
    println!("{error}");
    launcher.validation().map_or(Ok(()), |layer| layer.assert_clean())?;
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
