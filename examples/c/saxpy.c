#include <hiplaunch.h>
#include <stdio.h>
#include <stdlib.h>

static void check(hiplaunch_status status) {
  if (status == HIPLAUNCH_STATUS_OK) return;
  fprintf(stderr, "%s\n", hiplaunch_last_error_message());
  exit(1);
}

int main(int argc, char **argv) {
  static char code[1 << 20];
  float x[1000], y[1000];
  hiplaunch_launcher *launcher;
  hiplaunch_stream *stream;
  hiplaunch_kernel *saxpy;
  hiplaunch_ticket *ticket;
  FILE *file = fopen(argc > 1 ? argv[1] : "hip/vector.hipfb", "rb");
  size_t size = file ? fread(code, 1, sizeof code, file) : 0;
  if (file) fclose(file);
  for (int i = 0; i < 1000; i++) x[i] = 1.0f, y[i] = 2.0f;

  check(hiplaunch_open(NULL, &launcher)); /* a GPU where there is one, else the emulator */
  check(hiplaunch_stream_open(launcher, 0, &stream));
  check(hiplaunch_register(launcher, 0, code, size, "saxpy", NULL, &saxpy));

  hiplaunch_arg args[] = {hiplaunch_arg_f32(3.0f), hiplaunch_arg_host_in(x, sizeof x),
                          hiplaunch_arg_host_inout(y, sizeof y), hiplaunch_arg_i32(1000)};
  hiplaunch_dims dims = hiplaunch_dims_linear((1000 + 255) / 256, 256);
  check(hiplaunch_launch(saxpy, stream, &dims, args, 4, &ticket)); /* does not wait */
  check(hiplaunch_ticket_read(ticket, 0, y, sizeof y));            /* waits for this launch alone */

  check(hiplaunch_close(launcher)); /* and everything that was opened from it */
  printf("y[999] = %g\n", y[999]);
  return y[999] == 5.0f ? 0 : 1;
}
