/* LLVM IR and bitcode compiled to a code object, and launched. Without a compiler, what needs one is left out. */
#include "check.h"

static const char ir[] =
    "target triple = \"amdgcn-amd-amdhsa\"\n"
    "declare i32 @llvm.amdgcn.workitem.id.x()\n"
    "declare i32 @change(i32)\n"
    "define amdgpu_kernel void @apply(ptr addrspace(1) %x) {\n"
    "  %i = call i32 @llvm.amdgcn.workitem.id.x()\n"
    "  %p = getelementptr i32, ptr addrspace(1) %x, i32 %i\n"
    "  %v = load i32, ptr addrspace(1) %p\n"
    "  %w = call i32 @change(i32 %v)\n"
    "  store i32 %w, ptr addrspace(1) %p\n"
    "  ret void\n"
    "}\n";

static const char change[] =
    "define i32 @change(i32 %v) {\n"
    "  %w = mul i32 %v, 3\n"
    "  ret i32 %w\n"
    "}\n";

static hiplaunch_input input(hiplaunch_input_kind kind, const char *text, const char *name) {
  hiplaunch_input input;
  memset(&input, 0, sizeof input);
  input.kind = kind;
  input.data = text;
  input.size = strlen(text);
  input.name = name;
  return input;
}

static void errors(const hiplaunch_compile_options *options) {
  hiplaunch_compiled *compiled;
  hiplaunch_input one = input(HIPLAUNCH_INPUT_KIND_LLVM_IR, "target triple = \"x86_64-pc-linux-gnu\"\n", "theirs.ll");
  FAILS(hiplaunch_compile_inputs("gfx90a", &one, 1, options, &compiled), HIPLAUNCH_STATUS_COMPILE,
        "theirs.ll is for the triple x86_64-pc-linux-gnu");
  FAILS(hiplaunch_compile_inputs("gfx90a", NULL, 0, options, &compiled), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "empty");
  FAILS(hiplaunch_compile_inputs("gfx90a", NULL, 1, options, &compiled), HIPLAUNCH_STATUS_NULL_POINTER, "inputs");
  FAILS(hiplaunch_compile_inputs("gfx90a", &one, 1, options, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "compiled");
  one.kind = 9;
  FAILS(hiplaunch_compile_inputs("gfx90a", &one, 1, options, &compiled), HIPLAUNCH_STATUS_INVALID_ARGUMENT,
        "hiplaunch_input_kind");
}

static void compiled_kernel(const hiplaunch_compile_options *options) {
  hiplaunch_launcher *launcher = open_emulator();
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 4);
  hiplaunch_input inputs[2];
  hiplaunch_compiled *compiled;
  hiplaunch_kernel *kernel;
  hiplaunch_stream *stream;
  hiplaunch_buffer *buffer;
  hiplaunch_arg arg;
  const void *code;
  size_t size;
  int x[4] = {1, 2, -3, 0};
  inputs[0] = input(HIPLAUNCH_INPUT_KIND_LLVM_IR, ir, "apply.ll");
  inputs[1] = input(HIPLAUNCH_INPUT_KIND_LLVM_IR, change, "change.ll");
  FAILS(hiplaunch_compile_inputs("gfx90a", inputs, 1, options, &compiled), HIPLAUNCH_STATUS_COMPILE,
        "undefined symbol: change");
  OK(hiplaunch_compile_inputs("gfx90a", inputs, 2, options, &compiled));
  OK(hiplaunch_compiled_code(compiled, &code, &size));
  OK(hiplaunch_register(launcher, 0, code, size, "apply", NULL, &kernel));
  OK(hiplaunch_compiled_close(compiled));
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &buffer));
  OK(hiplaunch_buffer_upload(buffer, stream, 0, x, sizeof x));
  arg = hiplaunch_arg_buffer(buffer);
  OK(hiplaunch_launch(kernel, stream, &dims, &arg, 1, NULL));
  OK(hiplaunch_buffer_download(buffer, stream, 0, x, sizeof x));
  CHECK(x[0] == 3 && x[1] == 6 && x[2] == -9 && x[3] == 0);
  OK(hiplaunch_buffer_close(buffer));
  OK(hiplaunch_stream_close(stream));
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
}

int main(void) {
  hiplaunch_compile_options options;
  hiplaunch_text *text;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.cache_folder = "off";
  errors(&options);
  if (hiplaunch_describe_compiler_of("gfx90a", HIPLAUNCH_INPUT_KIND_LLVM_IR, &text) == HIPLAUNCH_STATUS_OK) {
    OK(hiplaunch_text_close(text));
    compiled_kernel(&options);
  } else {
    printf("skipped: %s\n", hiplaunch_last_error_message());
  }
  printf("all is well\n");
  return 0;
}
