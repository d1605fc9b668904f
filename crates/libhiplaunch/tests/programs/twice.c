/* The header may be included more than once in a file, as headers of several libraries do it. */
#include "hiplaunch.h"
#include "hiplaunch.h"

#include <stdio.h>

int main(void) {
  hiplaunch_dims dims = hiplaunch_dims_linear(3, 64);
  hiplaunch_arg arg = hiplaunch_arg_i32(-1);
  if (dims.grid[0] != 3 || dims.block[0] != 64 || arg.bits != 0xffffffffu || hiplaunch_version() == NULL) return 1;
  printf("all is well\n");
  return 0;
}
