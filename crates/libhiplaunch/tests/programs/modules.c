/* Modules and their global variables; kernels that are replaced by others with other parameters; a device's memory and
   its fault. */
#include "check.h"

static hiplaunch_launcher *launcher;
static hiplaunch_stream *stream;
static const char *folder;

static hiplaunch_module *module_of(const char *file) {
  size_t size;
  void *bytes = code_object(folder, file, "gfx90a", &size);
  hiplaunch_module *module;
  OK(hiplaunch_module_open(launcher, 0, bytes, size, &module));
  free(bytes);
  return module;
}

/* A global variable as a buffer. */
static hiplaunch_buffer *global(const hiplaunch_module *module, const char *name, size_t size) {
  hiplaunch_buffer *buffer;
  uint64_t address;
  size_t bytes;
  OK(hiplaunch_module_global(module, 0, name, &address, &bytes));
  OK(hiplaunch_buffer_borrow(launcher, 0, address, bytes, &buffer));
  CHECK(address != 0 && bytes == size);
  return buffer;
}

/* bump_global: *device_target += device_step by each work-item; device_target is the address of device_counter. */
static void globals(void) {
  hiplaunch_module *module = module_of("probe"), *again = module_of("probe");
  hiplaunch_buffer *counter = global(module, "device_counter", 4), *step = global(module, "device_step", 4);
  hiplaunch_buffer *others = global(again, "device_counter", 4);
  hiplaunch_kernel *bump, *same, *none;
  hiplaunch_dims dims = hiplaunch_dims_linear(2, 64);
  uint32_t word = 5, read = 0;
  uint64_t loads, after, unloads, address;
  OK(hiplaunch_count_driver_calls(launcher, "hipModuleLoadData", &loads));
  OK(hiplaunch_register_from(module, "bump_global", NULL, &bump));
  OK(hiplaunch_register_from(module, "bump_global", NULL, &same));
  OK(hiplaunch_register_from(module, "no_args", NULL, &none));
  OK(hiplaunch_count_driver_calls(launcher, "hipModuleLoadData", &after));
  CHECK(after == loads); /* loaded once */
  OK(hiplaunch_launch(bump, stream, &dims, NULL, 0, NULL));
  OK(hiplaunch_buffer_download(counter, stream, 0, &read, sizeof read));
  CHECK(read == 128);
  OK(hiplaunch_buffer_upload(step, stream, 0, &word, sizeof word));
  OK(hiplaunch_buffer_fill(counter, stream, 0, 4, 0));
  OK(hiplaunch_launch(same, stream, &dims, NULL, 0, NULL));
  OK(hiplaunch_buffer_download(counter, stream, 0, &read, sizeof read));
  CHECK(read == 5 * 128);
  OK(hiplaunch_buffer_download(others, stream, 0, &read, sizeof read));
  CHECK(read == 0); /* another module has variables of its own */

  FAILS(hiplaunch_module_global(module, 0, "nothing", &address, NULL), HIPLAUNCH_STATUS_DRIVER, "nothing");
  FAILS(hiplaunch_module_global(module, 0, "device_step", NULL, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "address");
  FAILS(hiplaunch_module_global(module, 0, NULL, &address, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "name");
  FAILS(hiplaunch_module_global(module, 1, "device_step", &address, NULL),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 1 of 1");
  FAILS(hiplaunch_register_from(module, "nothing", NULL, &none), HIPLAUNCH_STATUS_CODE_OBJECT, "bump_global");
  FAILS(hiplaunch_register_from(module, NULL, NULL, &none), HIPLAUNCH_STATUS_NULL_POINTER, "name");
  FAILS(hiplaunch_register_from(module, "bump_global", NULL, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "kernel");
  FAILS(hiplaunch_register_from(NULL, "bump_global", NULL, &none), HIPLAUNCH_STATUS_INVALID_HANDLE, "module");
  FAILS(hiplaunch_module_open(launcher, 0, "no code", 7, &again), HIPLAUNCH_STATUS_CODE_OBJECT, "");
  FAILS(hiplaunch_module_open(launcher, 0, NULL, 7, &again), HIPLAUNCH_STATUS_NULL_POINTER, "code_object");
  FAILS(hiplaunch_module_open(launcher, 3, "no code", 7, &again), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 3");
  FAILS(hiplaunch_module_open(launcher, 0, "no code", 7, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "module");

  /* Its kernels keep a module that is closed, and its variables. */
  OK(hiplaunch_module_close(module));
  FAILS(hiplaunch_module_close(module), HIPLAUNCH_STATUS_INVALID_HANDLE, "the module was closed");
  FAILS(hiplaunch_module_global(module, 0, "device_step", &address, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  OK(hiplaunch_launch(bump, stream, &dims, NULL, 0, NULL));
  OK(hiplaunch_buffer_download(counter, stream, 0, &read, sizeof read));
  CHECK(read == 2 * 5 * 128);
  OK(hiplaunch_buffer_close(counter));
  OK(hiplaunch_buffer_close(step));
  OK(hiplaunch_buffer_close(others));
  OK(hiplaunch_unregister(bump));
  OK(hiplaunch_unregister(same));
  OK(hiplaunch_unregister(none));
  OK(hiplaunch_collect(launcher));
  OK(hiplaunch_count_driver_calls(launcher, "hipModuleUnload", &unloads));
  CHECK(unloads == 1);
  FAILS(hiplaunch_collect(NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "launcher");
  /* `again` is closed with the launcher. */
}

/* The new kernel has other parameters. Launches are checked against it, compiled graphs wait for one that fits, and a graph that
   is computed keeps the old one. */
static void replaced(void) {
  enum { N = 64 };
  hiplaunch_module *vector = module_of("vector");
  hiplaunch_launcher *other = open_emulator();
  hiplaunch_kernel *kernel, *others = kernel_of(other, folder, "vector", "saxpy");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, N);
  hiplaunch_graph *graphs[3];
  hiplaunch_compiled_graph *compiled, *late;
  hiplaunch_buffer *x;
  hiplaunch_arg scale[4], words[3];
  hiplaunch_ticket *ticket;
  float ones[N], read[N];
  uint32_t filled[N];
  size_t size;
  void *bytes = code_object(folder, "vector", "gfx90a", &size);
  int i;
  for (i = 0; i < N; i++) ones[i] = 1.0f;
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof ones, &x));
  OK(hiplaunch_buffer_upload(x, stream, 0, ones, sizeof ones));
  OK(hiplaunch_register_from(vector, "vscale", NULL, &kernel));
  scale[0] = hiplaunch_arg_f32(3.0f);
  scale[1] = hiplaunch_arg_host_in(ones, sizeof ones);
  scale[2] = hiplaunch_arg_host_out(sizeof ones);
  scale[3] = hiplaunch_arg_i32(N);
  words[0] = hiplaunch_arg_host_out(sizeof filled);
  words[1] = hiplaunch_arg_u32(7);
  words[2] = hiplaunch_arg_i32(N);
  for (i = 0; i < 3; i++) {
    hiplaunch_value from, to;
    hiplaunch_graph_arg args[4];
    OK(hiplaunch_graph_open(launcher, 0, &graphs[i]));
    OK(hiplaunch_graph_buffer(graphs[i], x, &from));
    OK(hiplaunch_graph_temporary(graphs[i], sizeof ones, &to));
    args[0] = hiplaunch_graph_arg_f32(2.0f);
    args[1] = hiplaunch_graph_arg_read(from);
    args[2] = hiplaunch_graph_arg_write(to);
    args[3] = hiplaunch_graph_arg_i32(N);
    OK(hiplaunch_graph_launch(graphs[i], kernel, &dims, args, 4, NULL));
    OK(hiplaunch_graph_read(graphs[i], to, NULL));
  }
  OK(hiplaunch_graph_compile(graphs[0], stream, &compiled));
  OK(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, NULL));
  FAILS(hiplaunch_launch(kernel, stream, &dims, words, 3, &ticket),
        HIPLAUNCH_STATUS_LAUNCH, "takes 4 arguments, got 3");

  OK(hiplaunch_replace(kernel, bytes, size, "fill_u32"));
  FAILS(hiplaunch_launch(kernel, stream, &dims, scale, 4, &ticket),
        HIPLAUNCH_STATUS_LAUNCH, "`fill_u32`: takes 3 arguments, got 4");
  OK(hiplaunch_launch(kernel, stream, &dims, words, 3, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, filled, sizeof filled));
  OK(hiplaunch_ticket_close(ticket));
  for (i = 0; i < N; i++) CHECK(filled[i] == 7);
  FAILS(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, &ticket), HIPLAUNCH_STATUS_LAUNCH,
        "`fill_u32`: takes 3 arguments, got 4");
  FAILS(hiplaunch_graph_compile(graphs[1], stream, &late), HIPLAUNCH_STATUS_LAUNCH, "`fill_u32`: takes 3 arguments, got 4");
  OK(hiplaunch_graph_compute(graphs[2], stream, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, read, sizeof read));
  OK(hiplaunch_ticket_close(ticket));
  for (i = 0; i < N; i++) CHECK(read[i] == 2.0f);

  /* And back, from a module. */
  OK(hiplaunch_replace_from(kernel, vector, "vscale"));
  OK(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, read, sizeof read));
  OK(hiplaunch_ticket_close(ticket));
  OK(hiplaunch_compiled_graph_close(compiled));
  for (i = 0; i < N; i++) CHECK(read[i] == 2.0f);
  OK(hiplaunch_launch(kernel, stream, &dims, scale, 4, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, read, sizeof read));
  OK(hiplaunch_ticket_close(ticket));
  for (i = 0; i < N; i++) CHECK(read[i] == 3.0f);
  FAILS(hiplaunch_replace_from(kernel, vector, "nothing"), HIPLAUNCH_STATUS_CODE_OBJECT, "vscale");
  FAILS(hiplaunch_replace_from(kernel, NULL, "vscale"), HIPLAUNCH_STATUS_INVALID_HANDLE, "module");
  FAILS(hiplaunch_replace_from(NULL, vector, "vscale"), HIPLAUNCH_STATUS_INVALID_HANDLE, "kernel");
  FAILS(hiplaunch_replace_from(others, vector, "vscale"), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  FAILS(hiplaunch_replace_from(kernel, vector, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "name");
  OK(hiplaunch_launch(kernel, stream, &dims, scale, 4, &ticket)); /* the kernel stayed */
  OK(hiplaunch_unregister(kernel));
  OK(hiplaunch_module_close(vector));
  OK(hiplaunch_buffer_close(x));
  OK(hiplaunch_close(other));
  free(bytes);
}

/* One module for two devices: it is loaded where it is needed, and has variables of its own on each. */
static void on_all_devices(void) {
  hiplaunch_options options;
  hiplaunch_launcher *both;
  hiplaunch_module *all, *first;
  hiplaunch_kernel *bump;
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  uint64_t loads, address;
  uint32_t device, step = 1, read;
  size_t size;
  void *bytes = code_object(folder, "probe", "gfx90a", &size);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.backend = HIPLAUNCH_BACKEND_EMULATOR;
  options.validate = HIPLAUNCH_SWITCH_ON;
  options.emulator = "devices=2";
  OK(hiplaunch_open(&options, &both));
  OK(hiplaunch_module_open(both, HIPLAUNCH_ALL_DEVICES, bytes, size, &all));
  OK(hiplaunch_register_from(all, "bump_global", NULL, &bump));
  OK(hiplaunch_count_driver_calls(both, "hipModuleLoadData", &loads));
  CHECK(loads == 0);
  for (device = 0; device < 2; device++, step++) {
    hiplaunch_stream *its;
    hiplaunch_buffer *variable, *counter;
    OK(hiplaunch_stream_open(both, device, &its));
    OK(hiplaunch_module_global(all, device, "device_step", &address, &size));
    OK(hiplaunch_buffer_borrow(both, device, address, size, &variable));
    OK(hiplaunch_buffer_upload(variable, its, 0, &step, sizeof step));
    OK(hiplaunch_launch(bump, its, &dims, NULL, 0, NULL));
    OK(hiplaunch_module_global(all, device, "device_counter", &address, &size));
    OK(hiplaunch_buffer_borrow(both, device, address, size, &counter));
    OK(hiplaunch_buffer_download(counter, its, 0, &read, sizeof read));
    CHECK(read == 64 * step);
    OK(hiplaunch_buffer_close(variable));
    OK(hiplaunch_buffer_close(counter));
  }
  OK(hiplaunch_count_driver_calls(both, "hipModuleLoadData", &loads));
  CHECK(loads == 2);
  FAILS(hiplaunch_module_global(all, 2, "device_step", &address, NULL),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 2 of 2");
  free(bytes);
  bytes = code_object(folder, "probe", "gfx90a", &size);
  OK(hiplaunch_module_open(both, 0, bytes, size, &first));
  FAILS(hiplaunch_module_global(first, 1, "device_step", &address, NULL),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "the module is not on");
  FAILS(hiplaunch_replace_from(bump, first, "bump_global"), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "other devices");
  free(bytes);
  check_clean(both);
  OK(hiplaunch_close(both));
}

static void memory_of_the_device(void) {
  uint64_t before, after, total;
  hiplaunch_buffer *buffer;
  /* What the pool holds and nobody uses goes back now, not when the buffer is allocated. */
  OK(hiplaunch_stream_synchronize(stream));
  OK(hiplaunch_pool_trim(launcher, 0, 0, NULL));
  OK(hiplaunch_get_memory_info(launcher, 0, &before, &total));
  CHECK(before > 0 && before <= total);
  OK(hiplaunch_buffer_open(launcher, 0, NULL, 256 << 20, &buffer));
  OK(hiplaunch_get_memory_info(launcher, 0, &after, NULL));
  CHECK(after + (256 << 20) <= before);
  OK(hiplaunch_buffer_close(buffer));
  FAILS(hiplaunch_get_memory_info(launcher, 0, NULL, &total), HIPLAUNCH_STATUS_NULL_POINTER, "free");
  FAILS(hiplaunch_get_memory_info(launcher, 4, &before, &total), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 4");
}

static void fault(void) {
  hiplaunch_launcher *lost = open_emulator();
  hiplaunch_kernel *stray = kernel_of(lost, folder, "probe", "oob_store");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 1);
  hiplaunch_arg args[2];
  hiplaunch_stream *its;
  hiplaunch_text *report;
  const char *text;
  size_t length;
  uint64_t bytes;
  float word = 0.0f;
  OK(hiplaunch_stream_open(lost, 0, &its));
  OK(hiplaunch_describe_fault(lost, 0, &report));
  OK(hiplaunch_text_data(report, &text, &length));
  CHECK(length == 0);
  OK(hiplaunch_text_close(report));
  args[0] = hiplaunch_arg_host_in(&word, sizeof word);
  args[1] = hiplaunch_arg_i64((int64_t)1 << 40);
  OK(hiplaunch_launch(stray, its, &dims, args, 2, NULL));
  FAILS(hiplaunch_stream_synchronize(its), HIPLAUNCH_STATUS_DEVICE_LOST, "is lost");
  OK(hiplaunch_describe_fault(lost, 0, &report));
  OK(hiplaunch_text_data(report, &text, &length));
  CHECK(strstr(hiplaunch_last_error_message(), text) != NULL);
  CHECK(strstr(text, "is lost") != NULL && strstr(text, "`oob_store` grid [1, 1, 1]") != NULL);
  OK(hiplaunch_text_close(report));
  FAILS(hiplaunch_describe_fault(lost, 1, &report), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 1");
  FAILS(hiplaunch_describe_fault(lost, 0, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "text");
  FAILS(hiplaunch_get_memory_info(lost, 0, &bytes, NULL), HIPLAUNCH_STATUS_DEVICE_LOST, "is lost");
  OK(hiplaunch_close(lost));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  launcher = open_emulator();
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  globals();
  replaced();
  on_all_devices();
  memory_of_the_device();
  fault();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  puts("modules: all is well");
  return 0;
}
