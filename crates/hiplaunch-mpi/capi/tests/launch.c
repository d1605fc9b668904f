/* A launcher's kernels and buffers with the exchange: each rank doubles a matrix, and gets the neighbours' columns.
 *
 *     mpirun -n 4 hiplaunch exec -- ./launch vector.hipfb    without a GPU
 *     mpirun -n 4 ./launch vector.hipfb                      on AMD GPUs
 *
 * It is linked with libhiplaunch and libhiplaunch_mpi. Run by test.sh. */
#include "../../../../hip/hiplaunch.h"
#include "../hiplaunch_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 48 };

static void check(hiplaunch_status status) {
  if (status == HIPLAUNCH_STATUS_OK) return;
  fprintf(stderr, "%s\n", hiplaunch_last_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchanged(int status) {
  if (status == HIPLAUNCH_MPI_OK) return;
  fprintf(stderr, "%s\n", hiplaunch_mpi_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  static char code[1 << 20];
  static float host[ROWS][COLUMNS];
  int provided, rank, size, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int32_t left = (rank + size - 1) % size, right = (rank + 1) % size, device;
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  size_t bytes = file ? fread(code, 1, sizeof code, file) : 0;
  if (file) fclose(file);

  hiplaunch_mpi_comm *comm;
  exchanged(hiplaunch_mpi_open(MPI_Comm_c2f(MPI_COMM_WORLD), -1, 30.0, &comm)); /* on the device of the local rank */
  exchanged(hiplaunch_mpi_device(comm, &device));
  exchanged(hiplaunch_mpi_check_code(comm, "vscale", code, bytes));

  hiplaunch_launcher *launcher;
  hiplaunch_stream *stream;
  hiplaunch_kernel *scale;
  hiplaunch_buffer *field;
  void *raw;
  uint64_t address;
  check(hiplaunch_open(NULL, &launcher));
  check(hiplaunch_stream_open(launcher, (uint32_t)device, &stream));
  check(hiplaunch_stream_raw(stream, &raw));
  check(hiplaunch_register(launcher, (uint32_t)device, code, bytes, "vscale", NULL, &scale));
  check(hiplaunch_buffer_open(launcher, (uint32_t)device, stream, sizeof host, &field));
  check(hiplaunch_buffer_address(field, &address));
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) host[r][c] = (float)(rank * 10000 + r * COLUMNS + c);
  check(hiplaunch_buffer_upload(field, stream, 0, host, sizeof host));
  hiplaunch_dims dims = hiplaunch_dims_cover(ROWS * COLUMNS, 256);
  hiplaunch_arg twice[] = {hiplaunch_arg_f32(2.0f), hiplaunch_arg_buffer(field), hiplaunch_arg_buffer(field),
                           hiplaunch_arg_i32(ROWS * COLUMNS)};
  check(hiplaunch_launch(scale, stream, &dims, twice, 4, NULL));

  size_t rows = ROWS;
  ptrdiff_t stride = COLUMNS;
#define COLUMN(c) {(char *)(uintptr_t)address + (c) * sizeof(float), sizeof(float), 1, &rows, &stride}
  hiplaunch_mpi_halo halos[2] = {
      {left, 0, 1, COLUMN(1), COLUMN(0)},
      {right, 1, 0, COLUMN(COLUMNS - 2), COLUMN(COLUMNS - 1)},
  };
  hiplaunch_mpi_ticket *ticket;
  exchanged(hiplaunch_mpi_exchange(comm, raw, halos, 2, &ticket)); /* reads what the kernel wrote, and returns at once */
  exchanged(hiplaunch_mpi_before(comm, ticket, raw)); /* what is enqueued from now on sees the neighbours' columns */
  exchanged(hiplaunch_mpi_ticket_close(ticket));
  hiplaunch_arg half[] = {hiplaunch_arg_f32(0.5f), hiplaunch_arg_buffer(field), hiplaunch_arg_buffer(field),
                          hiplaunch_arg_i32(ROWS * COLUMNS)};
  check(hiplaunch_launch(scale, stream, &dims, half, 4, NULL));
  check(hiplaunch_buffer_download(field, stream, 0, host, sizeof host)); /* waits */

  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) {
      int from = c == 0 ? left : c == COLUMNS - 1 ? right : rank;
      int column = c == 0 ? COLUMNS - 2 : c == COLUMNS - 1 ? 1 : c;
      wrong += host[r][c] != (float)(from * 10000 + r * COLUMNS + column);
    }
  if (wrong) fprintf(stderr, "rank %d: %d cells are wrong\n", rank, wrong);

  exchanged(hiplaunch_mpi_close(comm)); /* before the launcher, whose memory it may still read */
  check(hiplaunch_close(launcher));
  MPI_Finalize();
  return wrong != 0;
}
