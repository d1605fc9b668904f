/* A file may include the header more than once, as it does if several other headers include it. */
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
