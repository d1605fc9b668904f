//! `ds_gws_*`: global wave sync (CDNA3 ISA, the instructions' pseudocode; LLVM's `SelectDS_GWS`).

use crate::exec::inst::{Exec, ExecContext, Flow, Inst};
use crate::state::wave::{AGPR, Wave, lanes_of, sreg};

/// Returns the number of the resource: the offset plus M0's bits 16 to 21, modulo 64.
fn resource(w: &Wave, i: &Inst) -> u8 {
    ((w.s32(sreg::M0) >> 16).wrapping_add(i.imm) & 63) as u8
}

/// Returns the data: that of the first active lane, or of lane 0 if none is active. Its register is encoded in the
/// field where other DS instructions have the address.
fn value(w: &Wave, i: &Inst) -> u32 {
    let accumulator = i.raw[0] >> 25 & 1 != 0;
    let register = i.src[0] + if accumulator { AGPR } else { 0 };
    let lane = lanes_of(w.exec()).next().unwrap_or(0);
    w.v(register).flat()[lane]
}

/// Declares instructions: `Name: |wave, context, instruction, resource| flow;`.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident: |$w:ident, $cx:ident, $i:ident, $resource:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Exec for $name {
            #[inline(always)]
            fn exec($w: &mut Wave, $cx: &mut ExecContext, $i: &Inst) -> Flow {
                let $resource = resource($w, $i);
                $body
            }
        }
    )*};
}

/// Sets what the wave waits for. Returns `Flow::Wait` if that is something.
fn wait(w: &mut Wave, wait: Option<crate::state::gws::GwsWait>) -> Flow {
    w.wait = wait;
    if wait.is_some() { Flow::Wait } else { Flow::Next }
}

instructions! {
    GwsInit: |w, cx, i, resource| {
        cx.gws.init(resource, value(w, i));
        Flow::Next
    };
    GwsSemaV: |w, cx, i, resource| {
        cx.gws.add(resource, 1);
        Flow::Next
    };
    GwsSemaBr: |w, cx, i, resource| {
        cx.gws.add(resource, value(w, i));
        Flow::Next
    };
    GwsSemaP: |w, cx, i, resource| {
        let waits = cx.gws.acquire(resource);
        wait(w, waits)
    };
    GwsSemaReleaseAll: |w, cx, i, resource| {
        cx.gws.release_all(resource);
        Flow::Next
    };
    GwsBarrier: |w, cx, i, resource| {
        let waits = cx.gws.arrive(resource, value(w, i));
        wait(w, waits)
    };
}
