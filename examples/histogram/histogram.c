#include <hiplaunch.h>
#include <stdio.h>
#include <stdlib.h>

struct range {
  float low, high;
  unsigned bins;
};

static void check(hiplaunch_status status) {
  if (status == HIPLAUNCH_STATUS_OK) return;
  fprintf(stderr, "%s\n", hiplaunch_last_error_message());
  exit(1);
}

int main(void) {
  static char code[1 << 20];
  static float x[4000];
  unsigned counts[10] = {0};
  struct range range = {0.0f, 10.0f, 10};
  hiplaunch_launcher *launcher;
  hiplaunch_stream *stream;
  hiplaunch_kernel *histogram;
  hiplaunch_ticket *ticket;
  FILE *file = fopen("histogram.co", "rb");
  size_t size = file ? fread(code, 1, sizeof code, file) : 0;
  if (file) fclose(file);
  for (int i = 0; i < 4000; i++) x[i] = (float)(i % 10);

  check(hiplaunch_open(NULL, &launcher)); /* a GPU where there is one, else the emulator */
  check(hiplaunch_stream_open(launcher, 0, &stream));
  check(hiplaunch_register(launcher, 0, code, size, "histogram", NULL, &histogram));

  hiplaunch_arg args[] = {hiplaunch_arg_host_in(x, sizeof x), hiplaunch_arg_u32(4000),
                          hiplaunch_arg_value(&range, sizeof range), hiplaunch_arg_host_inout(counts, sizeof counts)};
  hiplaunch_dims dims = hiplaunch_dims_linear(4, 256);
  check(hiplaunch_launch(histogram, stream, &dims, args, 4, &ticket)); /* does not wait */
  check(hiplaunch_ticket_read(ticket, 0, counts, sizeof counts)); /* waits for this launch alone */
  check(hiplaunch_close(launcher));                               /* and with it everything made from it */

  for (int b = 0; b < 10; b++) printf("%u%s", counts[b], b < 9 ? ", " : "\n");
  return 0;
}
