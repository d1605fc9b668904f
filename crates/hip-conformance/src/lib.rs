//! What every driver of HIP must do: one set of [cases](CASES), each a function that panics if the driver fails it.
//!
//! hiplaunch's tests run the cases on each driver of the machine, with and without layers; `hiplaunch selftest` runs them on a user's
//! GPU. A case that needs what a driver or a machine lacks says so and does nothing.
//!
//! ```
//! use hip_conformance::{CASES, Layers, Subject, run};
//!
//! # #[cfg(feature = "emulator")] {
//! let case = CASES.iter().find(|case| case.name == "copies_of_every_size_are_exact").unwrap();
//! let ran = run(Subject::Emulated { target: "gfx90a", layers: Layers::Bare }, case);
//! assert_eq!(ran.skipped, None);
//! # }
//! ```

// A case fails by a panic, and a case is what calls these functions.
#![allow(clippy::missing_panics_doc)]

mod captures;
mod default_streams;
mod graph_rig;
mod graphs;
mod launch;
mod memory;
mod modules;
mod ordering;
mod properties;
mod rig;
mod run;
mod streams;
mod subject;
mod threads;

pub use rig::Rig;
pub use run::{Ran, run};
pub use subject::{Layers, Subject};

/// Something that every driver must do.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it is about: memory, streams, graphs and so on.
    pub room: &'static str,
    /// What the driver must do, as a sentence in snake case.
    pub name: &'static str,
    run: fn(&Rig),
}

/// Passes the cases of each room to a macro.
#[macro_export]
macro_rules! cases {
    ($with:ident) => {
        $with! {
            properties: [
                the_driver_has_a_name_a_version_and_a_source,
                devices_have_a_target_and_sane_limits,
                a_device_that_does_not_exist_is_an_error,
                an_allocation_reduces_the_free_memory,
                peer_access_can_be_enabled_twice,
            ]
            memory: [
                allocations_are_aligned_and_do_not_overlap,
                too_large_an_allocation_is_out_of_memory_and_changes_nothing,
                freeing_null_does_nothing,
                pinned_memory_has_two_addresses,
                registered_memory_is_pinned,
                kernels_use_registered_memory,
                registering_or_unregistering_twice_is_an_error,
                copies_of_every_size_are_exact,
                copies_of_no_bytes_do_nothing,
                blocking_copies_have_finished_when_they_return,
                copies_within_a_device,
                fills_keep_to_their_range,
                pageable_memory_may_be_changed_after_the_call,
                a_pageable_copy_to_the_host_has_waited,
                a_pinned_copy_to_the_host_does_not_wait,
                a_pinned_copy_reads_when_it_runs,
                memory_is_allocated_and_freed_in_stream_order,
                copies_between_devices,
            ]
            streams: [
                work_of_a_stream_runs_in_order,
                an_idle_stream_is_idle,
                a_busy_stream_is_not_idle,
                a_device_synchronize_covers_every_stream,
                many_streams_work_at_once,
                priorities_are_accepted,
                a_destroyed_stream_finishes_its_work,
                host_functions_run_in_order,
                a_host_function_between_launches_runs_before_the_wait_ends,
                work_runs_though_no_call_waits_for_it,
                a_stream_waits_for_the_value_that_another_writes,
                a_stream_waits_for_the_value_that_the_host_writes,
                values_are_compared_under_their_mask_in_both_widths,
                a_free_waits_for_work_in_flight,
            ]
            default_streams: [
                the_null_stream_waits_for_blocking_streams,
                blocking_streams_wait_for_the_null_stream,
                other_streams_take_no_notice_of_the_null_stream,
                blocking_streams_take_no_notice_of_each_other,
                a_threads_own_stream_is_a_blocking_stream,
                each_thread_has_a_stream_of_its_own,
                waiting_for_the_null_stream_covers_blocking_streams,
                the_null_stream_joins_blocking_streams,
                a_blocking_copy_waits_for_blocking_streams,
                each_device_has_a_null_stream,
                default_streams_are_not_destroyed,
            ]
            ordering: [
                an_event_orders_two_streams,
                an_event_that_was_never_recorded_is_reached,
                an_event_is_reached_when_its_work_has_finished,
                a_wait_keeps_the_record_that_it_saw,
                a_destroyed_event_is_still_waited_for,
                time_passes_between_two_events,
                an_event_without_timing_has_no_time,
                events_order_a_chain_through_many_streams,
                branches_fork_and_join_with_the_same_events,
            ]
            modules: [
                every_kernel_is_found,
                an_unknown_name_is_not_found,
                an_image_that_is_no_code_object_is_an_error,
                an_image_for_another_target_is_an_error,
                the_image_is_not_needed_after_loading,
                globals_can_be_read_and_written,
                two_loads_of_one_image_have_their_own_globals,
                a_module_can_be_loaded_and_unloaded_many_times,
                occupancy_is_at_least_one,
            ]
            launch: [
                saxpy_of_many_sizes,
                reductions_through_static_and_dynamic_lds,
                a_matrix_product_on_a_grid_of_two_dimensions,
                arguments_of_every_size_reach_the_kernel,
                many_arguments_reach_the_kernel,
                a_kernel_sees_its_ids_in_one_two_and_three_dimensions,
                dynamic_lds_is_as_large_as_asked,
                a_kernel_without_arguments_runs,
                the_kernarg_segment_may_be_changed_after_the_call,
                kernels_reach_pinned_memory,
                a_jit_kernel_with_an_argument_block,
                configurations_out_of_limits_are_refused,
                a_fault_is_an_error_on_its_device_alone,
                a_trap_is_an_error,
                a_cooperative_grid_waits_for_itself,
                a_cooperative_grid_that_does_not_fit_is_refused,
                no_graph_takes_a_cooperative_launch,
            ]
            graphs: [
                a_graph_computes_what_a_stream_computes,
                random_graphs_keep_their_dependencies,
                launches_of_a_graph_run_one_after_the_other,
                a_graph_reads_new_arguments_from_memory,
                a_graph_keeps_to_the_order_of_its_stream,
                a_launch_does_not_wait,
                kernel_arguments_are_copied_when_added,
                an_instantiated_graph_is_a_copy,
                kernels_of_an_executable_graph_get_other_arguments,
                kernels_and_sizes_of_an_executable_graph_are_replaced,
                an_update_does_not_wait_for_the_last_launch,
                a_graph_of_empty_nodes_does_nothing,
                fills_in_a_graph_keep_to_their_range,
                kernels_without_arguments_are_nodes,
                nodes_of_another_graph_are_refused,
                nodes_out_of_limits_are_refused,
                stale_graphs_are_refused,
                many_threads_record_and_launch_graphs,
                a_fault_names_its_node,
                a_launch_of_a_destroyed_graph_finishes,
                a_host_function_of_a_graph_runs_at_every_launch,
            ]
            captures: [
                captured_work_runs_when_its_graph_is_launched,
                a_capture_is_no_part_of_the_work_around_it,
                an_empty_capture_is_a_graph_that_does_nothing,
                pageable_memory_is_copied_when_the_graph_runs,
                streams_join_a_capture_by_its_events,
                work_that_the_capture_does_not_wait_for_is_refused_at_its_end,
                a_capture_begins_and_ends_where_it_may,
                a_thread_may_enqueue_in_anothers_capture,
                waiting_for_captured_work_breaks_the_capture,
                the_mode_says_which_calls_break_a_capture,
                work_that_is_no_node_is_refused_and_the_capture_goes_on,
                order_that_would_be_lost_is_refused,
                threads_capture_streams_of_their_own,
                a_capture_ends_on_a_lost_device,
                a_stream_of_another_device_stays_out_of_a_capture,
                a_captured_host_function_runs_at_every_launch,
            ]
            threads: [
                threads_launch_on_their_own_streams,
                threads_launch_on_one_stream,
                threads_wait_for_their_launches_on_one_stream,
                threads_create_use_and_destroy_everything_at_once,
                the_validation_layer_refuses_stale_handles,
            ]
        }
    };
}

macro_rules! table {
    ($($room:ident: [$($case:ident),* $(,)?])*) => {
        /// All cases, in the order in which they are best run: what others rest on comes first.
        pub const CASES: &[Case] = &[$($(
            Case { room: stringify!($room), name: stringify!($case), run: $room::$case },
        )*)*];
    };
}

cases!(table);
