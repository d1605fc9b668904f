/* Arguments of a launch. */

static inline hiplaunch_arg hiplaunch_arg_scalar(const void *value, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_SCALAR, 0, 0, NULL, size};
  const unsigned char *from = (const unsigned char *)value;
  size_t i;
  for (i = 0; i < size && i < 8; i++) arg.bits |= (uint64_t)from[i] << (8 * i); /* devices and hosts are little-endian */
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_bool(bool value) {
  uint8_t byte = value ? 1 : 0;
  return hiplaunch_arg_scalar(&byte, 1);
}
static inline hiplaunch_arg hiplaunch_arg_i8(int8_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_u8(uint8_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_i16(int16_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
/* Also the bits of a 16-bit float. */
static inline hiplaunch_arg hiplaunch_arg_u16(uint16_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
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

/* Bytes for a parameter of any kind; only their number is checked. */
static inline hiplaunch_arg hiplaunch_arg_raw(const void *data, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_RAW, 0, 0, data, size};
  return arg;
}

/* Argument blocks: one without patches, arrays and results, whose fields are then set; its patches; its arrays. */

static inline hiplaunch_argument_block hiplaunch_argument_block_of(const void *bytes, size_t size) {
  hiplaunch_argument_block block = {sizeof(hiplaunch_argument_block), bytes, size, NULL, 0, NULL, 0, 0};
  return block;
}

/* At `offset`, the address of the result block; of the array with an index; a device address; that of a buffer. */
static inline hiplaunch_patch hiplaunch_patch_result(size_t offset) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_RESULT, 0, 0};
  return patch;
}

static inline hiplaunch_patch hiplaunch_patch_array(size_t offset, size_t index) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_ARRAY, 0, index};
  return patch;
}

static inline hiplaunch_patch hiplaunch_patch_address(size_t offset, uint64_t address) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_ADDRESS, 0, address};
  return patch;
}

static inline hiplaunch_patch hiplaunch_patch_buffer(size_t offset, const hiplaunch_buffer *buffer) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_BUFFER, 0, (uint64_t)(uintptr_t)buffer};
  return patch;
}

static inline hiplaunch_array hiplaunch_array_in(const void *data, size_t size) {
  hiplaunch_array array = {HIPLAUNCH_ARG_KIND_HOST_IN, 0, data, size};
  return array;
}

static inline hiplaunch_array hiplaunch_array_inout(const void *data, size_t size) {
  hiplaunch_array array = {HIPLAUNCH_ARG_KIND_HOST_INOUT, 0, data, size};
  return array;
}

static inline hiplaunch_array hiplaunch_array_out(size_t size) {
  hiplaunch_array array = {HIPLAUNCH_ARG_KIND_HOST_OUT, 0, NULL, size};
  return array;
}

/* Arguments of a recorded launch. */

static inline hiplaunch_graph_arg hiplaunch_graph_arg_scalar(const void *value, size_t size) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_SCALAR, 0, 0, NULL, size};
  arg.bits = hiplaunch_arg_scalar(value, size).bits;
  return arg;
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_bool(bool value) {
  uint8_t byte = value ? 1 : 0;
  return hiplaunch_graph_arg_scalar(&byte, 1);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i8(int8_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u8(uint8_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i16(int16_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u16(uint16_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i32(int32_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u32(uint32_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i64(int64_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u64(uint64_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_f32(float v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_f64(double v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

/* A struct by value, in memory order. */
static inline hiplaunch_graph_arg hiplaunch_graph_arg_value(const void *value, size_t size) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_VALUE, 0, 0, value, size};
  return arg;
}

/* A pointer to bytes that the kernel reads; that it writes, all of them; that it reads and may write. */
static inline hiplaunch_graph_arg hiplaunch_graph_arg_read(hiplaunch_value value) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_READ, value, 0, NULL, 0};
  return arg;
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_write(hiplaunch_value value) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_WRITE, value, 0, NULL, 0};
  return arg;
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_read_write(hiplaunch_value value) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_READ_WRITE, value, 0, NULL, 0};
  return arg;
}

/* At `offset` of a graph's argument block, the address of a value. */
static inline hiplaunch_graph_patch hiplaunch_graph_patch_value(size_t offset, hiplaunch_value value) {
  hiplaunch_graph_patch patch = {offset, value, 0};
  return patch;
}

/* Dimensions of launches: the grid in workgroups, the block in work-items. Set dynamic_lds where it is not 0. */

static inline hiplaunch_dims hiplaunch_dims_3d(uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                                               uint32_t block_y, uint32_t block_z) {
  hiplaunch_dims dims = {{0, 0, 0}, {0, 0, 0}, 0};
  dims.grid[0] = grid_x;
  dims.grid[1] = grid_y;
  dims.grid[2] = grid_z;
  dims.block[0] = block_x;
  dims.block[1] = block_y;
  dims.block[2] = block_z;
  return dims;
}

static inline hiplaunch_dims hiplaunch_dims_2d(uint32_t grid_x, uint32_t grid_y, uint32_t block_x, uint32_t block_y) {
  return hiplaunch_dims_3d(grid_x, grid_y, 1, block_x, block_y, 1);
}

static inline hiplaunch_dims hiplaunch_dims_linear(uint32_t grid, uint32_t block) {
  return hiplaunch_dims_3d(grid, 1, 1, block, 1, 1);
}

/* As many blocks of `block` work-items as `items` need. */
static inline hiplaunch_dims hiplaunch_dims_cover(uint32_t items, uint32_t block) {
  return hiplaunch_dims_linear(block ? items / block + (items % block != 0) : 0, block);
}

/* A launch of `dims` without arguments, for hiplaunch_submit. Set its fields for everything else. */
static inline hiplaunch_launch_options hiplaunch_launch_options_of(hiplaunch_dims dims) {
  hiplaunch_launch_options options = {sizeof(hiplaunch_launch_options), {{0, 0, 0}, {0, 0, 0}, 0}, 0,
                                      NULL, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0, 0};
  options.dims = dims;
  return options;
}
