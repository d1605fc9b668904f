//! The functions of libhsa-runtime64 that the driver uses: one table with their names and types.
//!
//! The required ones are in ROCr of ROCm 5.2 and of every later version. The types are those of hsa.h and hsa_ext_amd.h, where enums are
//! `int`-sized and handles structs of one `u64`, which the calling convention passes alike.

use std::ffi::{c_char, c_void};
use std::mem::transmute_copy;
use std::ptr::NonNull;

use crate::abi::{
    Agent, EventHandler, Executable, Isa, Loaded, Period, PointerInfo, Pool, QueueCallback, QueueHeader,
    Reader, Signal, Status, Symbol,
};

/// A callback of an iteration over handles.
pub(crate) type Each<T> = unsafe extern "C" fn(T, *mut c_void) -> Status;

macro_rules! fn_type {
    (($($arg:ty),*)) => { unsafe extern "C" fn($($arg),*) -> Status };
    (($($arg:ty),*) $ret:ty) => { unsafe extern "C" fn($($arg),*) -> $ret };
}

macro_rules! table {
    (
        required { $($name:ident = $symbol:ident($($arg:ty),* $(,)?) $(-> $ret:ty)?;)* }
        optional { $($opt:ident = $opt_symbol:ident($($opt_arg:ty),* $(,)?);)* }
    ) => {
        /// The functions of a library. Every address was found under the function's own name.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $name: fn_type!(($($arg),*) $($ret)?),)*
            $(pub(crate) $opt: Option<fn_type!(($($opt_arg),*))>,)*
        }

        impl Functions {
            /// Resolves the table with `find`. The error lists the functions that are missing.
            ///
            /// # Safety
            /// An address that `find` returns is that of HSA's function of that name, and valid forever.
            pub(crate) unsafe fn resolve(
                mut find: impl FnMut(&'static str) -> Option<NonNull<c_void>>,
            ) -> Result<Functions, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    let $name = find(stringify!($symbol));
                    if $name.is_none() {
                        missing.push(stringify!($symbol));
                    }
                )*
                if !missing.is_empty() {
                    return Err(missing);
                }
                Ok(Functions {
                    // SAFETY: function pointers and `NonNull` have the same size, the address is that of the function of this name (the
                    // caller's promise), and its type here is that of HSA's header.
                    $($name: match $name { Some(address) => unsafe { transmute_copy(&address) }, None => return Err(missing) },)*
                    // SAFETY: the address is that of the function of this name, and has its type.
                    $($opt: find(stringify!($opt_symbol)).map(|address| unsafe { transmute_copy(&address) }),)*
                })
            }
        }
    };
}

table! {
    required {
        init = hsa_init();
        status_string = hsa_status_string(Status, *mut *const c_char);
        system_get_info = hsa_system_get_info(u32, *mut c_void);
        iterate_agents = hsa_iterate_agents(Each<Agent>, *mut c_void);
        agent_get_info = hsa_agent_get_info(Agent, u32, *mut c_void);
        agent_iterate_isas = hsa_agent_iterate_isas(Agent, Each<Isa>, *mut c_void);
        isa_get_info = hsa_isa_get_info_alt(Isa, u32, *mut c_void);
        agent_iterate_pools = hsa_amd_agent_iterate_memory_pools(Agent, Each<Pool>, *mut c_void);
        pool_get_info = hsa_amd_memory_pool_get_info(Pool, u32, *mut c_void);
        agent_pool_get_info = hsa_amd_agent_memory_pool_get_info(Agent, Pool, u32, *mut c_void);
        pool_allocate = hsa_amd_memory_pool_allocate(Pool, usize, u32, *mut *mut c_void);
        pool_free = hsa_amd_memory_pool_free(*mut c_void);
        agents_allow_access = hsa_amd_agents_allow_access(u32, *const Agent, *const u32, *const c_void);
        memory_lock = hsa_amd_memory_lock(*mut c_void, usize, *mut Agent, i32, *mut *mut c_void);
        memory_unlock = hsa_amd_memory_unlock(*mut c_void);
        pointer_info = hsa_amd_pointer_info(
            *const c_void, *mut PointerInfo, *const c_void, *mut u32, *mut *mut Agent
        );
        memory_copy = hsa_memory_copy(*mut c_void, *const c_void, usize);
        async_copy = hsa_amd_memory_async_copy(
            *mut c_void, Agent, *const c_void, Agent, usize, u32, *const Signal, Signal
        );
        signal_create = hsa_signal_create(i64, u32, *const Agent, *mut Signal);
        signal_value_pointer = hsa_amd_signal_value_pointer(Signal, *mut *mut i64);
        signal_store = hsa_signal_store_screlease(Signal, i64) -> ();
        signal_silent_store = hsa_signal_silent_store_relaxed(Signal, i64) -> ();
        signal_wait = hsa_signal_wait_scacquire(Signal, u32, i64, u64, u32) -> i64;
        queue_create = hsa_queue_create(
            Agent, u32, u32, QueueCallback, *mut c_void, u32, u32, *mut *mut QueueHeader
        );
        queue_destroy = hsa_queue_destroy(*mut QueueHeader);
        queue_add_write_index = hsa_queue_add_write_index_scacq_screl(*const QueueHeader, u64) -> u64;
        queue_load_write_index = hsa_queue_load_write_index_scacquire(*const QueueHeader) -> u64;
        queue_load_read_index = hsa_queue_load_read_index_scacquire(*const QueueHeader) -> u64;
        queue_set_priority = hsa_amd_queue_set_priority(*mut QueueHeader, u32);
        profiling_enable = hsa_amd_profiling_set_profiler_enabled(*mut QueueHeader, i32);
        dispatch_time = hsa_amd_profiling_get_dispatch_time(Agent, Signal, *mut Period);
        reader_create = hsa_code_object_reader_create_from_memory(*const c_void, usize, *mut Reader);
        reader_destroy = hsa_code_object_reader_destroy(Reader);
        executable_create = hsa_executable_create_alt(u32, u32, *const c_char, *mut Executable);
        executable_destroy = hsa_executable_destroy(Executable);
        executable_load = hsa_executable_load_agent_code_object(
            Executable, Agent, Reader, *const c_char, *mut Loaded
        );
        executable_freeze = hsa_executable_freeze(Executable, *const c_char);
        executable_symbol = hsa_executable_get_symbol_by_name(
            Executable, *const c_char, *const Agent, *mut Symbol
        );
        symbol_get_info = hsa_executable_symbol_get_info(Symbol, u32, *mut c_void);
    }
    optional {
        register_event_handler = hsa_amd_register_system_event_handler(EventHandler, *mut c_void);
    }
}
