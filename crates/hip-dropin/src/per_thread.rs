//! The functions whose names end with `_spt`: a null stream is the thread's own default stream. Compilers choose them for
//! programs that ask for that.

use crate::abi::structs::{Dim3, hipExtent, hipMemcpy3DParms, hipPitchedPtr};
use crate::abi::c_caller::{Address, HostFn, In, Out, UserData};
use crate::stream::callbacks::{StreamCallback, hipLaunchHostFunc, hipStreamAddCallback};
use crate::graph::stream_capture::{
    hipStreamBeginCapture, hipStreamEndCapture, hipStreamGetCaptureInfo, hipStreamGetCaptureInfo_v2,
    hipStreamIsCapturing,
};
use crate::copy::boxes::{hipMemcpy2DAsync, hipMemcpy3DAsync};
use crate::copy::bytes::hipMemcpyAsync;
use crate::stream::event::{EventHandle, hipEventRecord};
use crate::copy::fill::{hipMemset2DAsync, hipMemset3DAsync, hipMemsetAsync};
use crate::graph::{ExecHandle, GraphHandle};
use crate::kernel::launch::{hipLaunchCooperativeKernel, hipLaunchKernel};
use crate::abi::status::Status;
use crate::stream::{
    StreamHandle, hipStreamGetFlags, hipStreamGetPriority, hipStreamQuery, hipStreamSynchronize,
    hipStreamWaitEvent,
};
use crate::copy::symbols::{hipMemcpyFromSymbolAsync, hipMemcpyToSymbolAsync};

/// Declares functions that do what another one does with the stream that is meant. The stream is the parameter at `;`.
macro_rules! with_stream {
    ($($name:ident = $other:ident($($before:ident: $before_type:ty),*; $($after:ident: $after_type:ty),*);)*) => {$(
        #[unsafe(export_name = concat!("emulated_", stringify!($name)))]
        extern "C" fn $name($($before: $before_type,)* stream: StreamHandle $(, $after: $after_type)*) -> Status {
            $other($($before,)* stream.or_per_thread() $(, $after)*)
        }
    )*};
}

with_stream! {
    hipLaunchKernel_spt = hipLaunchKernel(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: usize;);
    hipLaunchCooperativeKernel_spt = hipLaunchCooperativeKernel(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: u32;);
    hipMemcpyAsync_spt = hipMemcpyAsync(dst: Address, src: Address, bytes: usize, kind: i32;);
    hipMemcpy2DAsync_spt = hipMemcpy2DAsync(
        dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize, height: usize, kind: i32;);
    hipMemcpy3DAsync_spt = hipMemcpy3DAsync(parms: In<hipMemcpy3DParms>;);
    hipMemcpyToSymbolAsync_spt = hipMemcpyToSymbolAsync(
        symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32;);
    hipMemcpyFromSymbolAsync_spt = hipMemcpyFromSymbolAsync(
        dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32;);
    hipMemsetAsync_spt = hipMemsetAsync(start: Address, value: i32, count: usize;);
    hipMemset2DAsync_spt = hipMemset2DAsync(
        start: Address, pitch: usize, value: i32, width: usize, height: usize;);
    hipMemset3DAsync_spt = hipMemset3DAsync(memory: hipPitchedPtr, value: i32, extent: hipExtent;);
    hipEventRecord_spt = hipEventRecord(event: EventHandle;);
    hipStreamQuery_spt = hipStreamQuery(;);
    hipStreamSynchronize_spt = hipStreamSynchronize(;);
    hipStreamWaitEvent_spt = hipStreamWaitEvent(; event: EventHandle, flags: u32);
    hipStreamBeginCapture_spt = hipStreamBeginCapture(; mode: i32);
    hipStreamEndCapture_spt = hipStreamEndCapture(; graph: Out<GraphHandle>);
    hipStreamIsCapturing_spt = hipStreamIsCapturing(; status: Out<i32>);
    hipStreamGetCaptureInfo_spt = hipStreamGetCaptureInfo(; status: Out<i32>, id: Out<u64>);
    hipStreamGetCaptureInfo_v2_spt = hipStreamGetCaptureInfo_v2(
        ; status: Out<i32>, id: Out<u64>, graph: Out<GraphHandle>, after: Out<Address>, count: Out<usize>);
    hipStreamGetFlags_spt = hipStreamGetFlags(; flags: Out<u32>);
    hipStreamGetPriority_spt = hipStreamGetPriority(; priority: Out<i32>);
    hipStreamAddCallback_spt = hipStreamAddCallback(; callback: StreamCallback, data: UserData, flags: u32);
    hipGraphLaunch_spt = hipGraphLaunch(exec: ExecHandle; );
    hipLaunchHostFunc_spt = hipLaunchHostFunc(; function: HostFn, data: UserData);
}

/// Declares functions that wait for what another one enqueues on the thread's default stream.
macro_rules! blocking {
    ($($name:ident = $other:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(export_name = concat!("emulated_", stringify!($name)))]
        extern "C" fn $name($($argument: $type),*) -> Status {
            let stream = StreamHandle::NULL.or_per_thread();
            let enqueued = $other($($argument,)* stream);
            if enqueued == Status::SUCCESS { hipStreamSynchronize(stream) } else { enqueued }
        }
    )*};
}

blocking! {
    hipMemcpy_spt = hipMemcpyAsync(dst: Address, src: Address, bytes: usize, kind: i32);
    hipMemcpy2D_spt = hipMemcpy2DAsync(
        dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize, height: usize, kind: i32);
    hipMemcpy3D_spt = hipMemcpy3DAsync(parms: In<hipMemcpy3DParms>);
    hipMemcpyToSymbol_spt = hipMemcpyToSymbolAsync(
        symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32);
    hipMemcpyFromSymbol_spt = hipMemcpyFromSymbolAsync(
        dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32);
    hipMemset_spt = hipMemsetAsync(start: Address, value: i32, count: usize);
    hipMemset2D_spt = hipMemset2DAsync(start: Address, pitch: usize, value: i32, width: usize, height: usize);
    hipMemset3D_spt = hipMemset3DAsync(memory: hipPitchedPtr, value: i32, extent: hipExtent);
}
