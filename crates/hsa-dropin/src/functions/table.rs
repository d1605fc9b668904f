//! The functions of AMD's libraries below HIP, by the library.
//!
//! A row of `answered` is a function with a body of the same name. Those of `refused` return that they are not supported. A row of `plain`
//! is a body whose result is no status, and the functions that do that: they differ in the order that they promise for other memory, and all
//! have the strongest. `functions/mod.rs` makes them functions; `build.rs` reads their names. The lists are those of Debian's libhsa-runtime64 5.2.3 and 7.2.4 and of ROCr's hsacore.so.def of September 2026; of
//! Debian's librocm_smi64 5.2.3, 6.4.1 and 7.2.4; and of amdsmi.h of ROCm 6.3, the Python package amdsmi 7.0.2 and its newer sources.
//!
//! The symbol version of HSA's functions is ROCr's, and that of AMD SMI's its own since ROCm 7.2, for which JAX's plugin asks. Earlier ones and
//! ROCm SMI's have none in AMD's libraries; programs that ask for none get these.

/// Makes the rows a list of symbol versions with their names.
#[allow(unused_macros, reason = "build.rs uses it")]
macro_rules! names {
    ($($library:ident $version:ident
        answered {$($name:ident $args:tt;)*} refused {$($refused:ident)*}
        plain {$($body:ident $plain_args:tt -> $result:ty {$($plain:ident)*})*})*) => {
        &[$((
            stringify!($version),
            &[$(stringify!($name),)* $(stringify!($refused),)* $($(stringify!($plain),)*)*],
        )),*]
    };
}

/// Passes the rows to a macro.
macro_rules! functions {
    ($consumer:ident) => {
        $consumer! {
hsa ROCR_1
    answered {
        hsa_init();
        hsa_shut_down();
        hsa_system_get_info(attribute: u32, value: Place);
        hsa_system_extension_supported(extension: u16, major: u16, minor: u16, result: Out<bool>);
        hsa_system_major_extension_supported(
            extension: u16, major: u16, minor: Out<u16>, result: Out<bool>
        );
        hsa_system_get_extension_table(extension: u16, major: u16, minor: u16, table: Out<u64>);
        hsa_system_get_major_extension_table(extension: u16, major: u16, bytes: usize, table: Out<u64>);
        hsa_extension_get_name(extension: u16, name: Out<StaticText>);
        hsa_status_string(status: Status, text: Out<StaticText>);
        hsa_iterate_agents(callback: Callback<Agent>, data: Data);
        hsa_agent_get_info(agent: Agent, attribute: u32, value: Place);
        hsa_agent_extension_supported(
            extension: u16, agent: Agent, major: u16, minor: u16, result: Out<bool>
        );
        hsa_agent_major_extension_supported(
            extension: u16, agent: Agent, major: u16, minor: Out<u16>, result: Out<bool>
        );
        hsa_agent_iterate_isas(agent: Agent, callback: Callback<Isa>, data: Data);
        hsa_isa_from_name(text: Text, isa: Out<Isa>);
        hsa_isa_get_info_alt(isa: Isa, attribute: u32, value: Place);
        hsa_isa_get_info(isa: Isa, attribute: u32, index: u32, value: Place);
        hsa_isa_compatible(code: Isa, agent: Isa, result: Out<bool>);
        hsa_isa_iterate_wavefronts(isa: Isa, callback: Callback<Wavefront>, data: Data);
        hsa_wavefront_get_info(wave: Wavefront, attribute: u32, value: Place);
        hsa_agent_iterate_caches(agent: Agent, callback: Callback<Cache>, data: Data);
        hsa_cache_get_info(cache: Cache, attribute: u32, value: Place);
        hsa_agent_iterate_regions(agent: Agent, callback: Callback<Pool>, data: Data);
        hsa_amd_agent_iterate_memory_pools(agent: Agent, callback: Callback<Pool>, data: Data);
        hsa_region_get_info(region: Pool, number: u32, value: Place);
        hsa_amd_memory_pool_get_info(pool: Pool, number: u32, value: Place);
        hsa_amd_agent_memory_pool_get_info(agent: Agent, pool: Pool, number: u32, value: Place);
        hsa_signal_create(initial: i64, count: u32, consumers: Ignored, signal: Out<Signal>);
        hsa_amd_signal_create(initial: i64, count: u32, consumers: Ignored, attributes: u64, signal: Out<Signal>);
        hsa_signal_destroy(signal: Signal);
        hsa_amd_signal_value_pointer(signal: Signal, pointer: Out<u64>);
        hsa_amd_signal_async_handler(
            signal: Signal, condition: u32, compare: i64, handler: Handler, data: Data
        );
        hsa_amd_async_function(function: Function, data: Data);
        hsa_queue_create(
            agent: Agent, size: u32, kind: u32, callback: QueueCallback, data: Data, private_bytes: u32,
            group_bytes: u32, queue: Out<QueuePointer>
        );
        hsa_queue_destroy(queue: QueuePointer);
        hsa_queue_inactivate(queue: QueuePointer);
        hsa_amd_queue_get_info(queue: QueuePointer, attribute: u32, value: Place);
        hsa_amd_queue_set_priority(queue: QueuePointer, priority: u32);
        hsa_amd_queue_cu_set_mask(queue: QueuePointer, count: u32, mask: Out<u32>);
        hsa_amd_queue_cu_get_mask(queue: QueuePointer, count: u32, mask: Out<u32>);
        hsa_amd_profiling_set_profiler_enabled(queue: QueuePointer, enable: i32);
        hsa_amd_profiling_async_copy_enable(enable: bool);
        hsa_amd_profiling_get_dispatch_time(agent: Agent, signal: Signal, time: Out<Period>);
        hsa_amd_profiling_get_async_copy_time(signal: Signal, time: Out<Period>);
        hsa_amd_profiling_convert_tick_to_system_domain(agent: Agent, tick: u64, system: Out<u64>);
        hsa_amd_enable_logging(flags: Ignored, file: Ignored);
        hsa_amd_register_system_event_handler(handler: EventHandler, data: Data);
        hsa_amd_agent_set_async_scratch_limit(agent: Agent, bytes: usize);
        hsa_amd_coherency_set_type(agent: Agent, kind: u32);
        hsa_amd_coherency_get_type(agent: Agent, kind: Out<u32>);
        hsa_amd_memory_pool_allocate(pool: Pool, bytes: usize, flags: u32, pointer: Out<u64>);
        hsa_amd_memory_pool_free(pointer: u64);
        hsa_memory_allocate(pool: Pool, bytes: usize, pointer: Out<u64>);
        hsa_memory_free(pointer: u64);
        hsa_memory_register(pointer: u64, bytes: usize);
        hsa_memory_deregister(pointer: u64, bytes: usize);
        hsa_memory_assign_agent(pointer: u64, agent: Agent, access: u32);
        hsa_memory_copy(to: u64, from: u64, bytes: usize);
        hsa_amd_memory_fill(pointer: u64, value: u32, count: usize);
        hsa_amd_agents_allow_access(count: u32, agents: Array<Agent>, flags: Ignored, pointer: u64);
        hsa_amd_memory_pool_can_migrate(from: Pool, to: Pool, result: Out<bool>);
        hsa_amd_memory_lock(
            host: u64, bytes: usize, agents: Array<Agent>, count: i32, pointer: Out<u64>
        );
        hsa_amd_memory_lock_to_pool(
            host: u64, bytes: usize, agents: Array<Agent>, count: i32, pool: Pool, flags: u32, pointer: Out<u64>
        );
        hsa_amd_memory_unlock(host: u64);
        hsa_amd_pointer_info(
            pointer: u64, info: Out<u8>, allocate: Allocate, count: Out<u32>, agents: Out<u64>
        );
        hsa_amd_pointer_info_set_userdata(pointer: u64, data: u64);
        hsa_amd_memory_async_copy(
            to: u64, to_agent: Agent, from: u64, from_agent: Agent, bytes: usize, count: u32,
            after: Array<Signal>, done: Signal
        );
        hsa_amd_memory_async_copy_on_engine(
            to: u64, to_agent: Agent, from: u64, from_agent: Agent, bytes: usize, count: u32,
            after: Array<Signal>, done: Signal, engine: u32, force: bool
        );
        hsa_amd_memory_async_copy_rect(
            to: Array<Pitched>, to_offset: Array<Size>, from: Array<Pitched>, from_offset: Array<Size>,
            size: Array<Size>, agent: Agent, direction: u32, count: u32, after: Array<Signal>, done: Signal
        );
        hsa_amd_memory_copy_engine_status(to: Agent, from: Agent, mask: Out<u32>);
        hsa_amd_memory_get_preferred_copy_engine(to: Agent, from: Agent, mask: Out<u32>);
        hsa_amd_vmem_address_reserve(pointer: Out<u64>, bytes: usize, wish: u64, flags: u64);
        hsa_amd_vmem_address_reserve_align(
            pointer: Out<u64>, bytes: usize, wish: u64, align: u64, flags: u64
        );
        hsa_amd_vmem_address_free(address: u64, bytes: usize);
        hsa_amd_vmem_handle_create(
            pool: Pool, bytes: usize, kind: u32, flags: u64, handle: Out<PhysicalHandle>
        );
        hsa_amd_vmem_handle_release(handle: PhysicalHandle);
        hsa_amd_vmem_map(address: u64, bytes: usize, from: usize, handle: PhysicalHandle, flags: u64);
        hsa_amd_vmem_unmap(address: u64, bytes: usize);
        hsa_amd_vmem_set_access(address: u64, bytes: usize, access: Array<Access>, count: usize);
        hsa_amd_vmem_get_access(address: u64, permission: Out<u32>, agent: Agent);
        hsa_amd_vmem_export_shareable_handle(descriptor: Out<i32>, handle: PhysicalHandle, flags: u64);
        hsa_amd_vmem_import_shareable_handle(descriptor: i32, handle: Out<PhysicalHandle>);
        hsa_amd_vmem_retain_alloc_handle(handle: Out<PhysicalHandle>, address: u64);
        hsa_amd_vmem_get_alloc_properties_from_handle(
            handle: PhysicalHandle, pool: Out<Pool>, kind: Out<u32>
        );
        hsa_code_object_reader_create_from_memory(code: Array<u8>, bytes: usize, reader: Out<Reader>);
        hsa_code_object_reader_create_from_file(file: i32, reader: Out<Reader>);
        hsa_code_object_reader_destroy(reader: Reader);
        hsa_executable_create(profile: u32, state: u32, options: Ignored, executable: Out<Executable>);
        hsa_executable_create_alt(profile: u32, rounding: u32, options: Ignored, executable: Out<Executable>);
        hsa_executable_destroy(executable: Executable);
        hsa_executable_load_agent_code_object(
            executable: Executable, agent: Agent, reader: Reader, options: Ignored, loaded: Out<Loaded>
        );
        hsa_executable_freeze(executable: Executable, options: Ignored);
        hsa_executable_validate(executable: Executable, result: Out<u32>);
        hsa_executable_validate_alt(executable: Executable, options: Ignored, result: Out<u32>);
        hsa_executable_get_info(executable: Executable, attribute: u32, value: Place);
        hsa_executable_get_symbol(
            executable: Executable, module: Ignored, name: Text, agent: Agent, convention: i32,
            symbol: Out<Symbol>
        );
        hsa_executable_get_symbol_by_name(
            executable: Executable, name: Text, agent: Array<Agent>, symbol: Out<Symbol>
        );
        hsa_executable_iterate_symbols(executable: Executable, callback: SymbolCallback, data: Data);
        hsa_executable_iterate_agent_symbols(
            executable: Executable, agent: Agent, callback: AgentSymbolCallback, data: Data
        );
        hsa_executable_iterate_program_symbols(executable: Executable, callback: SymbolCallback, data: Data);
        hsa_executable_agent_global_variable_define(
            executable: Executable, agent: Agent, name: Text, address: u64
        );
        hsa_executable_symbol_get_info(symbol: Symbol, attribute: u32, value: Place);
    }
    refused {
        hsa_agent_get_exception_policies hsa_amd_agent_preload hsa_amd_ais_file_read hsa_amd_ais_file_write
        hsa_amd_counted_queue_acquire hsa_amd_counted_queue_release
        hsa_amd_deregister_deallocation_callback hsa_amd_image_create hsa_amd_image_get_info_max_dim
        hsa_amd_interop_map_buffer hsa_amd_interop_unmap_buffer hsa_amd_ipc_memory_attach
        hsa_amd_ipc_memory_create hsa_amd_ipc_memory_detach hsa_amd_ipc_signal_attach
        hsa_amd_ipc_signal_create hsa_amd_memory_async_batch_copy hsa_amd_memory_migrate
        hsa_amd_portable_close_dmabuf hsa_amd_portable_export_dmabuf hsa_amd_portable_export_dmabuf_v2
        hsa_amd_register_deallocation_callback hsa_amd_sdma_queue_create hsa_amd_sdma_queue_destroy
        hsa_amd_sdma_queue_get_info hsa_amd_sdma_queue_ring_doorbell hsa_amd_signal_get_event_id
        hsa_amd_spm_acquire hsa_amd_spm_release hsa_amd_spm_set_dest_buffer hsa_amd_svm_attributes_get
        hsa_amd_svm_attributes_set hsa_amd_svm_discard_batch_async hsa_amd_svm_prefetch_async
        hsa_code_object_deserialize hsa_code_object_destroy hsa_code_object_get_info
        hsa_code_object_get_symbol hsa_code_object_get_symbol_from_name hsa_code_object_iterate_symbols
        hsa_code_object_serialize hsa_code_symbol_get_info hsa_executable_global_variable_define
        hsa_executable_load_code_object hsa_executable_load_program_code_object
        hsa_executable_readonly_variable_define hsa_ext_image_clear hsa_ext_image_copy hsa_ext_image_create
        hsa_ext_image_create_v2 hsa_ext_image_create_with_layout hsa_ext_image_data_get_info
        hsa_ext_image_data_get_info_v2 hsa_ext_image_data_get_info_with_layout hsa_ext_image_destroy
        hsa_ext_image_destroy_v2 hsa_ext_image_export hsa_ext_image_get_capability
        hsa_ext_image_get_capability_with_layout hsa_ext_image_import hsa_ext_image_mipmap_array_get_level
        hsa_ext_program_add_module hsa_ext_program_create hsa_ext_program_destroy hsa_ext_program_finalize
        hsa_ext_program_get_info hsa_ext_program_iterate_modules hsa_ext_sampler_create
        hsa_ext_sampler_create_v2 hsa_ext_sampler_destroy hsa_isa_get_exception_policies
        hsa_isa_get_round_method hsa_signal_group_create hsa_signal_group_destroy
        hsa_signal_group_wait_any_relaxed hsa_signal_group_wait_any_scacquire hsa_soft_queue_create
        hsa_ven_amd_pcs_create hsa_ven_amd_pcs_create_from_id hsa_ven_amd_pcs_destroy hsa_ven_amd_pcs_flush
        hsa_ven_amd_pcs_iterate_configuration hsa_ven_amd_pcs_start hsa_ven_amd_pcs_stop
    }
    plain {
        signal_load(signal: Signal) -> i64 {
            hsa_signal_load_acquire hsa_signal_load_relaxed hsa_signal_load_scacquire
        }
        signal_store(signal: Signal, value: i64) -> () {
            hsa_signal_store_relaxed hsa_signal_store_release hsa_signal_store_screlease
        }
        signal_silent_store(signal: Signal, value: i64) -> () {
            hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease
        }
        signal_exchange(signal: Signal, value: i64) -> i64 {
            hsa_signal_exchange_acq_rel hsa_signal_exchange_acquire hsa_signal_exchange_relaxed
            hsa_signal_exchange_release hsa_signal_exchange_scacq_screl hsa_signal_exchange_scacquire
            hsa_signal_exchange_screlease
        }
        signal_cas(signal: Signal, expected: i64, value: i64) -> i64 {
            hsa_signal_cas_acq_rel hsa_signal_cas_acquire hsa_signal_cas_relaxed hsa_signal_cas_release
            hsa_signal_cas_scacq_screl hsa_signal_cas_scacquire hsa_signal_cas_screlease
        }
        signal_add(signal: Signal, value: i64) -> () {
            hsa_signal_add_acq_rel hsa_signal_add_acquire hsa_signal_add_relaxed hsa_signal_add_release
            hsa_signal_add_scacq_screl hsa_signal_add_scacquire hsa_signal_add_screlease
        }
        signal_subtract(signal: Signal, value: i64) -> () {
            hsa_signal_subtract_acq_rel hsa_signal_subtract_acquire hsa_signal_subtract_relaxed
            hsa_signal_subtract_release hsa_signal_subtract_scacq_screl hsa_signal_subtract_scacquire
            hsa_signal_subtract_screlease
        }
        signal_and(signal: Signal, value: i64) -> () {
            hsa_signal_and_acq_rel hsa_signal_and_acquire hsa_signal_and_relaxed hsa_signal_and_release
            hsa_signal_and_scacq_screl hsa_signal_and_scacquire hsa_signal_and_screlease
        }
        signal_or(signal: Signal, value: i64) -> () {
            hsa_signal_or_acq_rel hsa_signal_or_acquire hsa_signal_or_relaxed hsa_signal_or_release
            hsa_signal_or_scacq_screl hsa_signal_or_scacquire hsa_signal_or_screlease
        }
        signal_xor(signal: Signal, value: i64) -> () {
            hsa_signal_xor_acq_rel hsa_signal_xor_acquire hsa_signal_xor_relaxed hsa_signal_xor_release
            hsa_signal_xor_scacq_screl hsa_signal_xor_scacquire hsa_signal_xor_screlease
        }
        signal_wait(signal: Signal, condition: u32, compare: i64, timeout: u64, state: u32) -> i64 {
            hsa_signal_wait_acquire hsa_signal_wait_relaxed hsa_signal_wait_scacquire
        }
        signal_wait_any(
            count: u32, signals: Array<Signal>, conditions: Array<u32>, compare: Array<i64>, timeout: u64, state: u32, value: Out<i64>
        ) -> u32 {
            hsa_amd_signal_wait_any
        }
        signal_wait_all(
            count: u32, signals: Array<Signal>, conditions: Array<u32>, compare: Array<i64>, timeout: u64, state: u32, values: Out<i64>
        ) -> u32 {
            hsa_amd_signal_wait_all
        }
        queue_load_read_index(queue: QueuePointer) -> u64 {
            hsa_queue_load_read_index_acquire hsa_queue_load_read_index_relaxed
            hsa_queue_load_read_index_scacquire
        }
        queue_load_write_index(queue: QueuePointer) -> u64 {
            hsa_queue_load_write_index_acquire hsa_queue_load_write_index_relaxed
            hsa_queue_load_write_index_scacquire
        }
        queue_store_read_index(queue: QueuePointer, value: u64) -> () {
            hsa_queue_store_read_index_relaxed hsa_queue_store_read_index_release
            hsa_queue_store_read_index_screlease
        }
        queue_store_write_index(queue: QueuePointer, value: u64) -> () {
            hsa_queue_store_write_index_relaxed hsa_queue_store_write_index_release
            hsa_queue_store_write_index_screlease
        }
        queue_add_write_index(queue: QueuePointer, value: u64) -> u64 {
            hsa_queue_add_write_index_acq_rel hsa_queue_add_write_index_acquire
            hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_release
            hsa_queue_add_write_index_scacq_screl hsa_queue_add_write_index_scacquire
            hsa_queue_add_write_index_screlease
        }
        queue_cas_write_index(queue: QueuePointer, expected: u64, value: u64) -> u64 {
            hsa_queue_cas_write_index_acq_rel hsa_queue_cas_write_index_acquire
            hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_release
            hsa_queue_cas_write_index_scacq_screl hsa_queue_cas_write_index_scacquire
            hsa_queue_cas_write_index_screlease
        }
    }

rocm_smi ROCM_SMI
    answered {
        rsmi_init(flags: u64);
        rsmi_shut_down();
        rsmi_num_monitor_devices(count: Out<u32>);
        rsmi_status_string(status: Status, text: Out<StaticText>);
        rsmi_version_get(version: Out<Version>);
        rsmi_dev_id_get(device: u32, id: Out<u16>);
        rsmi_dev_revision_get(device: u32, revision: Out<u16>);
        rsmi_dev_vendor_id_get(device: u32, id: Out<u16>);
        rsmi_dev_vendor_name_get(device: u32, name: Out<u8>, room: usize);
        rsmi_dev_name_get(device: u32, name: Out<u8>, room: usize);
        rsmi_dev_brand_get(device: u32, name: Out<u8>, room: u32);
        rsmi_dev_market_name_get(device: u32, name: Out<u8>, room: u32);
        rsmi_dev_drm_render_minor_get(device: u32, minor: Out<u32>);
        rsmi_dev_pci_id_get(device: u32, id: Out<u64>);
        rsmi_dev_node_id_get(device: u32, node: Out<u32>);
        rsmi_dev_guid_get(device: u32, id: Out<u64>);
        rsmi_dev_target_graphics_version_get(device: u32, version: Out<u64>);
        rsmi_dev_memory_total_get(device: u32, kind: u32, bytes: Out<u64>);
        rsmi_dev_memory_usage_get(device: u32, kind: u32, bytes: Out<u64>);
        rsmi_topo_get_numa_node_number(device: u32, node: Out<u32>);
        rsmi_topo_numa_affinity_get(device: u32, node: Out<i32>);
        rsmi_topo_get_link_weight(from: u32, to: u32, weight: Out<u64>);
        rsmi_topo_get_link_type(from: u32, to: u32, hops: Out<u64>, kind: Out<u32>);
        rsmi_is_P2P_accessible(from: u32, to: u32, accessible: Out<bool>);
    }
    refused {
        rsmi_compute_process_gpus_get rsmi_compute_process_info_by_device_get
        rsmi_compute_process_info_by_pid_get rsmi_compute_process_info_get
        rsmi_counter_available_counters_get rsmi_counter_control rsmi_counter_read
        rsmi_dev_activity_avg_mm_get rsmi_dev_activity_metric_get rsmi_dev_busy_percent_get
        rsmi_dev_clk_extremum_set rsmi_dev_clk_range_set rsmi_dev_compute_partition_get
        rsmi_dev_compute_partition_reset rsmi_dev_compute_partition_set rsmi_dev_counter_create
        rsmi_dev_counter_destroy rsmi_dev_counter_group_supported rsmi_dev_current_socket_power_get
        rsmi_dev_device_identifiers_get rsmi_dev_ecc_count_get rsmi_dev_ecc_enabled_get
        rsmi_dev_ecc_status_get rsmi_dev_energy_count_get rsmi_dev_fan_reset rsmi_dev_fan_rpms_get
        rsmi_dev_fan_speed_get rsmi_dev_fan_speed_max_get rsmi_dev_fan_speed_set
        rsmi_dev_firmware_version_get rsmi_dev_gpu_clk_freq_get rsmi_dev_gpu_clk_freq_set
        rsmi_dev_gpu_metrics_info_get rsmi_dev_gpu_reset rsmi_dev_mem_overdrive_level_get
        rsmi_dev_memory_busy_percent_get rsmi_dev_memory_partition_capabilities_get
        rsmi_dev_memory_partition_get rsmi_dev_memory_partition_reset rsmi_dev_memory_partition_set
        rsmi_dev_memory_reserved_pages_get rsmi_dev_metrics_header_info_get rsmi_dev_metrics_log_get
        rsmi_dev_metrics_xcd_counter_get rsmi_dev_od_clk_info_set rsmi_dev_od_volt_curve_regions_get
        rsmi_dev_od_volt_info_get rsmi_dev_od_volt_info_set rsmi_dev_overdrive_level_get
        rsmi_dev_overdrive_level_set rsmi_dev_overdrive_level_set_v1 rsmi_dev_partition_id_get
        rsmi_dev_pci_bandwidth_get rsmi_dev_pci_bandwidth_set rsmi_dev_pci_replay_counter_get
        rsmi_dev_pci_throughput_get rsmi_dev_perf_level_get rsmi_dev_perf_level_set
        rsmi_dev_perf_level_set_v1 rsmi_dev_power_ave_get rsmi_dev_power_cap_default_get
        rsmi_dev_power_cap_get rsmi_dev_power_cap_range_get rsmi_dev_power_cap_set rsmi_dev_power_get
        rsmi_dev_power_profile_presets_get rsmi_dev_power_profile_set rsmi_dev_serial_number_get
        rsmi_dev_sku_get rsmi_dev_subsystem_id_get rsmi_dev_subsystem_name_get
        rsmi_dev_subsystem_vendor_id_get rsmi_dev_supported_func_iterator_close
        rsmi_dev_supported_func_iterator_open rsmi_dev_supported_variant_iterator_open
        rsmi_dev_temp_metric_get rsmi_dev_unique_id_get rsmi_dev_vbios_version_get rsmi_dev_volt_metric_get
        rsmi_dev_vram_vendor_get rsmi_dev_xgmi_error_reset rsmi_dev_xgmi_error_status
        rsmi_dev_xgmi_hive_id_get rsmi_dev_xgmi_physical_id_get rsmi_event_notification_get
        rsmi_event_notification_init rsmi_event_notification_mask_set rsmi_event_notification_stop
        rsmi_func_iter_next rsmi_func_iter_value_get rsmi_minmax_bandwidth_get
        rsmi_perf_determinism_mode_set rsmi_utilization_count_get rsmi_version_str_get
    }
    plain {}

amd_smi AMDSMI_1
    answered {
        amdsmi_init(flags: u64);
        amdsmi_shut_down();
        amdsmi_status_code_to_string(status: Status, text: Out<StaticText>);
        amdsmi_get_lib_version(version: Out<Version>);
        amdsmi_get_socket_handles(count: Out<u32>, sockets: Out<Socket>);
        amdsmi_get_socket_info(socket: Socket, room: usize, name: Out<u8>);
        amdsmi_get_processor_handles(socket: Socket, count: Out<u32>, processors: Out<Processor>);
        amdsmi_get_processor_handles_by_type(
            socket: Socket, kind: u32, processors: Out<Processor>, count: Out<u32>
        );
        amdsmi_get_processor_type(processor: Processor, kind: Out<u32>);
        amdsmi_get_processor_handle_from_bdf(place: u64, processor: Out<Processor>);
        amdsmi_get_gpu_device_bdf(processor: Processor, place: Out<u64>);
        amdsmi_get_gpu_bdf_id(processor: Processor, place: Out<u64>);
        amdsmi_get_gpu_device_uuid(processor: Processor, room: Out<u32>, text: Out<u8>);
        amdsmi_get_gpu_asic_info(processor: Processor, info: Out<Asic>);
        amdsmi_get_gpu_vram_info(processor: Processor, info: Out<Vram>);
        amdsmi_get_gpu_vram_usage(processor: Processor, usage: Out<VramUsage>);
        amdsmi_get_gpu_memory_total(processor: Processor, kind: u32, bytes: Out<u64>);
        amdsmi_get_gpu_memory_usage(processor: Processor, kind: u32, bytes: Out<u64>);
        amdsmi_get_gpu_id(processor: Processor, id: Out<u16>);
        amdsmi_get_gpu_revision(processor: Processor, revision: Out<u16>);
        amdsmi_get_gpu_vendor_name(processor: Processor, name: Out<u8>, room: usize);
        amdsmi_get_gpu_kfd_info(processor: Processor, info: Out<Kfd>);
        amdsmi_get_gpu_enumeration_info(processor: Processor, info: Out<Enumeration>);
        amdsmi_get_gpu_topo_numa_affinity(processor: Processor, node: Out<i32>);
        amdsmi_topo_get_numa_node_number(processor: Processor, node: Out<u32>);
        amdsmi_topo_get_link_weight(from: Processor, to: Processor, weight: Out<u64>);
        amdsmi_topo_get_link_type(from: Processor, to: Processor, hops: Out<u64>, kind: Out<u32>);
        amdsmi_is_P2P_accessible(from: Processor, to: Processor, accessible: Out<bool>);
    }
    refused {
        amdsmi_clean_gpu_local_data amdsmi_cpu_apb_disable amdsmi_cpu_apb_enable
        amdsmi_first_online_core_on_cpu_socket amdsmi_get_afids_from_cper amdsmi_get_clk_freq
        amdsmi_get_clock_info amdsmi_get_cpu_affinity_with_scope amdsmi_get_cpu_cclk_limit
        amdsmi_get_cpu_core_boostlimit amdsmi_get_cpu_core_current_freq_limit amdsmi_get_cpu_core_energy
        amdsmi_get_cpu_cores_per_socket amdsmi_get_cpu_current_io_bandwidth amdsmi_get_cpu_current_xgmi_bw
        amdsmi_get_cpu_ddr_bw amdsmi_get_cpu_dimm_power_consumption
        amdsmi_get_cpu_dimm_temp_range_and_refresh_rate amdsmi_get_cpu_dimm_thermal_sensor
        amdsmi_get_cpu_family amdsmi_get_cpu_fclk_mclk amdsmi_get_cpu_handles
        amdsmi_get_cpu_hsmp_driver_version amdsmi_get_cpu_hsmp_proto_ver amdsmi_get_cpu_model
        amdsmi_get_cpu_model_name amdsmi_get_cpu_prochot_status amdsmi_get_cpu_pwr_svi_telemetry_all_rails
        amdsmi_get_cpu_smu_fw_version amdsmi_get_cpu_socket_c0_residency amdsmi_get_cpu_socket_count
        amdsmi_get_cpu_socket_current_active_freq_limit amdsmi_get_cpu_socket_energy
        amdsmi_get_cpu_socket_freq_range amdsmi_get_cpu_socket_lclk_dpm_level amdsmi_get_cpu_socket_power
        amdsmi_get_cpu_socket_power_cap amdsmi_get_cpu_socket_power_cap_max
        amdsmi_get_cpu_socket_temperature amdsmi_get_cpucore_handles amdsmi_get_energy_count
        amdsmi_get_esmi_err_msg amdsmi_get_fw_info amdsmi_get_gpu_accelerator_partition_profile
        amdsmi_get_gpu_accelerator_partition_profile_config amdsmi_get_gpu_activity
        amdsmi_get_gpu_available_counters amdsmi_get_gpu_bad_page_info amdsmi_get_gpu_bad_page_threshold
        amdsmi_get_gpu_board_info amdsmi_get_gpu_busy_percent amdsmi_get_gpu_cache_info
        amdsmi_get_gpu_compute_partition amdsmi_get_gpu_compute_process_gpus
        amdsmi_get_gpu_compute_process_info amdsmi_get_gpu_compute_process_info_by_pid
        amdsmi_get_gpu_cper_entries amdsmi_get_gpu_driver_info amdsmi_get_gpu_ecc_count
        amdsmi_get_gpu_ecc_enabled amdsmi_get_gpu_ecc_status amdsmi_get_gpu_event_notification
        amdsmi_get_gpu_fan_rpms amdsmi_get_gpu_fan_speed amdsmi_get_gpu_fan_speed_max
        amdsmi_get_gpu_mem_overdrive_level amdsmi_get_gpu_memory_partition
        amdsmi_get_gpu_memory_partition_config amdsmi_get_gpu_memory_reserved_pages
        amdsmi_get_gpu_metrics_header_info amdsmi_get_gpu_metrics_info amdsmi_get_gpu_od_volt_curve_regions
        amdsmi_get_gpu_od_volt_info amdsmi_get_gpu_overdrive_level amdsmi_get_gpu_partition_metrics_info
        amdsmi_get_gpu_pci_bandwidth amdsmi_get_gpu_pci_replay_counter amdsmi_get_gpu_pci_throughput
        amdsmi_get_gpu_perf_level amdsmi_get_gpu_pm_metrics_info amdsmi_get_gpu_power_profile_presets
        amdsmi_get_gpu_process_isolation amdsmi_get_gpu_process_list
        amdsmi_get_gpu_ras_block_features_enabled amdsmi_get_gpu_ras_feature_info
        amdsmi_get_gpu_reg_table_info amdsmi_get_gpu_subsystem_id amdsmi_get_gpu_subsystem_name
        amdsmi_get_gpu_total_ecc_count amdsmi_get_gpu_vbios_info amdsmi_get_gpu_virtualization_mode
        amdsmi_get_gpu_volt_metric amdsmi_get_gpu_vram_vendor amdsmi_get_gpu_xcd_counter
        amdsmi_get_gpu_xgmi_link_status amdsmi_get_hsmp_metrics_table amdsmi_get_hsmp_metrics_table_version
        amdsmi_get_link_metrics amdsmi_get_link_topology_nearest
        amdsmi_get_minmax_bandwidth_between_processors amdsmi_get_node_handle amdsmi_get_npm_info
        amdsmi_get_pcie_info amdsmi_get_power_cap_info amdsmi_get_power_info
        amdsmi_get_processor_count_from_handles amdsmi_get_processor_info amdsmi_get_soc_pstate
        amdsmi_get_supported_power_cap amdsmi_get_temp_metric amdsmi_get_threads_per_core
        amdsmi_get_utilization_count amdsmi_get_violation_status amdsmi_get_xgmi_info amdsmi_get_xgmi_plpd
        amdsmi_gpu_control_counter amdsmi_gpu_counter_group_supported amdsmi_gpu_create_counter
        amdsmi_gpu_destroy_counter amdsmi_gpu_driver_reload amdsmi_gpu_read_counter
        amdsmi_gpu_validate_ras_eeprom amdsmi_gpu_xgmi_error_status amdsmi_init_gpu_event_notification
        amdsmi_is_gpu_power_management_enabled amdsmi_reset_gpu amdsmi_reset_gpu_fan
        amdsmi_reset_gpu_xgmi_error amdsmi_set_clk_freq amdsmi_set_cpu_core_boostlimit
        amdsmi_set_cpu_df_pstate_range amdsmi_set_cpu_gmi3_link_width_range amdsmi_set_cpu_pcie_link_rate
        amdsmi_set_cpu_pwr_efficiency_mode amdsmi_set_cpu_socket_boostlimit
        amdsmi_set_cpu_socket_lclk_dpm_level amdsmi_set_cpu_socket_power_cap amdsmi_set_cpu_xgmi_width
        amdsmi_set_gpu_accelerator_partition_profile amdsmi_set_gpu_clk_limit amdsmi_set_gpu_clk_range
        amdsmi_set_gpu_compute_partition amdsmi_set_gpu_event_notification_mask amdsmi_set_gpu_fan_speed
        amdsmi_set_gpu_memory_partition amdsmi_set_gpu_memory_partition_mode amdsmi_set_gpu_od_clk_info
        amdsmi_set_gpu_od_volt_info amdsmi_set_gpu_overdrive_level amdsmi_set_gpu_pci_bandwidth
        amdsmi_set_gpu_perf_determinism_mode amdsmi_set_gpu_perf_level amdsmi_set_gpu_power_profile
        amdsmi_set_gpu_process_isolation amdsmi_set_power_cap amdsmi_set_soc_pstate amdsmi_set_xgmi_plpd
        amdsmi_stop_gpu_event_notification amdsmi_topo_get_p2p_status
    }
    plain {
        free_name_value_pairs(pairs: Ignored) -> () {
            amdsmi_free_name_value_pairs
        }
    }
        }
    };
}
