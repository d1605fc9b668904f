/* Ranks exchange columns of a matrix in a ring, add numbers, and get errors by their statuses. Run by test.sh. */
#include "../hiplaunch_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the program takes from HIP. */
typedef int hipError_t;
hipError_t hipMalloc(void** memory, size_t bytes);
hipError_t hipFree(void* memory);
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream);
hipError_t hipStreamCreate(void** stream);
hipError_t hipStreamDestroy(void* stream);
hipError_t hipStreamSynchronize(void* stream);
hipError_t hipSetDevice(int device);
enum { TO_DEVICE = 1, TO_HOST = 2 };

#define CHECK(what)                                                                                     \
  do {                                                                                                  \
    if (!(what)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, hiplaunch_mpi_error());             \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)

enum { ROWS = 40, COLUMNS = 30 };

int main(int argc, char** argv) {
  int provided, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  hiplaunch_mpi_comm* comm;
  int32_t device = -1, done = 0;
  CHECK(hiplaunch_mpi_open(MPI_Comm_c2f(MPI_COMM_WORLD), -1, 30.0, &comm) == HIPLAUNCH_MPI_OK);
  CHECK(hiplaunch_mpi_device(comm, &device) == HIPLAUNCH_MPI_OK && device >= 0);
  CHECK(hipSetDevice(device) == 0);
  void* stream;
  CHECK(hipStreamCreate(&stream) == 0);

  static float field[ROWS][COLUMNS];
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) field[r][c] = (float)(rank * 10000 + r * 100 + c);
  char* memory;
  CHECK(hipMalloc((void**)&memory, sizeof field) == 0);
  CHECK(hipMemcpyAsync(memory, field, sizeof field, TO_DEVICE, stream) == 0);

  size_t shape = ROWS;
  ptrdiff_t stride = COLUMNS;
#define COLUMN(c) {memory + (c) * sizeof(float), sizeof(float), 1, &shape, &stride}
  int32_t left = (rank + size - 1) % size, right = (rank + 1) % size;
  hiplaunch_mpi_halo halos[2] = {
      {left, 0, 1, COLUMN(1), COLUMN(0)},
      {right, 1, 0, COLUMN(COLUMNS - 2), COLUMN(COLUMNS - 1)},
  };
  hiplaunch_mpi_ticket* ticket;
  CHECK(hiplaunch_mpi_exchange(comm, stream, halos, 2, &ticket) == HIPLAUNCH_MPI_OK);
  CHECK(hiplaunch_mpi_before(comm, ticket, stream) == HIPLAUNCH_MPI_OK);
  CHECK(hiplaunch_mpi_ticket_close(ticket) == HIPLAUNCH_MPI_OK);
  CHECK(hipMemcpyAsync(field, memory, sizeof field, TO_HOST, stream) == 0);
  CHECK(hipStreamSynchronize(stream) == 0);
  for (int r = 0; r < ROWS; r++) {
    CHECK(field[r][0] == (float)(left * 10000 + r * 100 + COLUMNS - 2));
    CHECK(field[r][1] == (float)(rank * 10000 + r * 100 + 1));
    CHECK(field[r][COLUMNS - 1] == (float)(right * 10000 + r * 100 + 1));
  }

  double numbers[3] = {rank, -rank, 0.5};
  size_t three = 3;
  hiplaunch_mpi_view all = {memory, sizeof(double), 1, &three, NULL};
  CHECK(hipMemcpyAsync(memory, numbers, sizeof numbers, TO_DEVICE, stream) == 0);
  CHECK(hiplaunch_mpi_all_reduce(comm, stream, &all, HIPLAUNCH_MPI_F64, HIPLAUNCH_MPI_SUM, &ticket) == HIPLAUNCH_MPI_OK);
  CHECK(hiplaunch_mpi_wait(ticket) == HIPLAUNCH_MPI_OK);
  CHECK(hipMemcpyAsync(numbers, memory, sizeof numbers, TO_HOST, stream) == 0);
  CHECK(hipStreamSynchronize(stream) == 0);
  CHECK(numbers[0] == size * (size - 1) / 2 && numbers[1] == -numbers[0] && numbers[2] == 0.5 * size);

  CHECK(hiplaunch_mpi_barrier(comm, stream, &ticket) == HIPLAUNCH_MPI_OK);
  while (!done) CHECK(hiplaunch_mpi_is_done(ticket, &done) == HIPLAUNCH_MPI_OK);
  CHECK(hiplaunch_mpi_ticket_close(ticket) == HIPLAUNCH_MPI_OK);

  /* Errors. */
  CHECK(hiplaunch_mpi_send(comm, stream, &all, size, 0, &ticket) == HIPLAUNCH_MPI_INVALID && ticket == NULL);
  CHECK(strstr(hiplaunch_mpi_error(), "ranks") != NULL);
  CHECK(hiplaunch_mpi_send(comm, stream, NULL, 0, 0, &ticket) == HIPLAUNCH_MPI_INVALID);
  CHECK(hiplaunch_mpi_check_code(comm, "step", &rank, rank == 1 ? 4 : 0) == HIPLAUNCH_MPI_CODE_DIFFERS);
  CHECK(hiplaunch_mpi_check(comm) == HIPLAUNCH_MPI_OK);
  /* Rank 1 fails when all have checked. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    CHECK(hiplaunch_mpi_fail(comm, "the field has a NaN") == HIPLAUNCH_MPI_OK);
  } else {
    int status = hiplaunch_mpi_recv(comm, stream, &all, 1, 99, &ticket);
    if (status == HIPLAUNCH_MPI_OK) status = hiplaunch_mpi_wait(ticket);
    CHECK(status == HIPLAUNCH_MPI_RANK_FAILED);
    CHECK(strstr(hiplaunch_mpi_error(), "rank 1 failed: ") != NULL && strstr(hiplaunch_mpi_error(), "NaN") != NULL);
  }
  CHECK(hiplaunch_mpi_close(comm) == HIPLAUNCH_MPI_OK);
  CHECK(hipStreamDestroy(stream) == 0 && hipFree(memory) == 0);
  MPI_Finalize();
  return 0;
}
