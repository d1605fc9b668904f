/* Arguments of a launch. */

static inline hiplaunch_arg hiplaunch_arg_scalar(const void *value, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_SCALAR, 0, 0, NULL, size};
  const unsigned char *from = (const unsigned char *)value;
  size_t i;
  for (i = 0; i < size && i < 8; i++) arg.bits |= (uint64_t)from[i] << (8 * i); /* devices and hosts are little-endian */
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_i32(int32_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_u32(uint32_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_i64(int64_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_u64(uint64_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_f32(float value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_f64(double value) { return hiplaunch_arg_scalar(&value, sizeof value); }

/* A struct by value, in memory order. */
static inline hiplaunch_arg hiplaunch_arg_value(const void *value, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_VALUE, 0, 0, value, size};
  return arg;
}

/* A device address. */
static inline hiplaunch_arg hiplaunch_arg_address(uint64_t address) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_ADDRESS, 0, address, NULL, 0};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_buffer(const hiplaunch_buffer *buffer) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_BUFFER, 0, 0, buffer, 0};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_view(const hiplaunch_view *view) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_VIEW, 0, 0, view, 0};
  return arg;
}

/* The address of the launch's destination (hiplaunch_launch_options). */
static inline hiplaunch_arg hiplaunch_arg_destination(void) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_DESTINATION, 0, 0, NULL, 0};
  return arg;
}

/* Host arrays: one that the kernel reads, one that it reads and writes, and one that it writes. The last two are
 * outputs of the ticket. */
static inline hiplaunch_arg hiplaunch_arg_host_in(const void *data, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_HOST_IN, 0, 0, data, size};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_host_inout(const void *data, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_HOST_INOUT, 0, 0, data, size};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_host_out(size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_HOST_OUT, 0, 0, NULL, size};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_argument_block(const hiplaunch_argument_block *block) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_ARGUMENT_BLOCK, 0, 0, block, 0};
  return arg;
}

/* Grid and block of a one-dimensional launch, in workgroups and work-items. */
static inline hiplaunch_dims hiplaunch_dims_linear(uint32_t grid, uint32_t block) {
  hiplaunch_dims dims = {{grid, 1, 1}, {block, 1, 1}, 0};
  return dims;
}

/* A launch of `dims` without arguments, for hiplaunch_submit. Set its fields for everything else. */
static inline hiplaunch_launch_options hiplaunch_launch_options_of(hiplaunch_dims dims) {
  hiplaunch_launch_options options = {sizeof(hiplaunch_launch_options), {{0, 0, 0}, {0, 0, 0}, 0}, 0,
                                      NULL, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0};
  options.dims = dims;
  return options;
}
