/* Exchange between ranks of MPI that is ordered with HIP streams: hiplaunch-mpi for C, and for Python through ctypes.
 *
 * Streams are hipStream_t, and memory is device memory, of the libamdhip64 that the program uses. Memory and streams stay alive
 * until the operation is done. The communicator is passed as its Fortran handle: MPI_Comm_c2f(comm) in C, comm.py2f() of mpi4py
 * in Python. The program initializes MPI for MPI_THREAD_MULTIPLE, and finalizes it after hiplaunch_mpi_close.
 *
 * Every function returns a status; hiplaunch_mpi_error has the message of the calling thread's last error. An operation returns
 * at once, with a ticket: it reads what it sends in the order of the stream; work that uses what is received comes after
 * hiplaunch_mpi_before or hiplaunch_mpi_wait. After the first error of an operation, every later call on the communicator
 * returns it, on all ranks. Any thread may call any function; one handle is closed once, by one thread.
 */
#ifndef HIPLAUNCH_MPI_H
#define HIPLAUNCH_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hiplaunch_mpi_comm hiplaunch_mpi_comm;
typedef struct hiplaunch_mpi_ticket hiplaunch_mpi_ticket;

/* Statuses. */
enum {
  HIPLAUNCH_MPI_OK = 0,
  HIPLAUNCH_MPI_INVALID = 1,      /* an argument is wrong, or null; nothing was enqueued */
  HIPLAUNCH_MPI_ENVIRONMENT = 2,  /* MPI is not initialized, or not for MPI_THREAD_MULTIPLE, or is another MPI */
  HIPLAUNCH_MPI_MPI = 3,          /* a call of MPI failed */
  HIPLAUNCH_MPI_NO_DEVICE = 4,    /* the rank has no device */
  HIPLAUNCH_MPI_SIZE = 5,         /* a message is longer or shorter than announced, or collective calls differ */
  HIPLAUNCH_MPI_CODE_DIFFERS = 6, /* ranks have different code objects */
  HIPLAUNCH_MPI_RANK_FAILED = 7,  /* another rank failed; the message has its number and report */
  HIPLAUNCH_MPI_TIMEOUT = 8,      /* an operation took too long */
  HIPLAUNCH_MPI_DEVICE = 9,       /* a call of the driver failed, or the device is lost */
  HIPLAUNCH_MPI_INTERNAL = 10     /* an error in this library; please report it */
};

/* Types of numbers, for hiplaunch_mpi_all_reduce. */
enum {
  HIPLAUNCH_MPI_F32 = 0,
  HIPLAUNCH_MPI_F64 = 1,
  HIPLAUNCH_MPI_I32 = 2,
  HIPLAUNCH_MPI_I64 = 3,
  HIPLAUNCH_MPI_U32 = 4,
  HIPLAUNCH_MPI_U64 = 5
};

/* What hiplaunch_mpi_all_reduce computes. */
enum { HIPLAUNCH_MPI_SUM = 0, HIPLAUNCH_MPI_MIN = 1, HIPLAUNCH_MPI_MAX = 2 };

/* Elements of device memory. Element i, j, ... is at data + element * (i * strides[0] + j * strides[1] ...). */
typedef struct {
  void* data;               /* the element at index 0 of every axis */
  size_t element;           /* the size of an element in bytes */
  size_t rank;              /* the number of axes */
  const size_t* shape;      /* the extents, outermost first; rank of them */
  const ptrdiff_t* strides; /* in elements; null: row-major order without gaps */
} hiplaunch_mpi_view;

/* What one rank exchanges with a neighbour. Tags are 0 to 32767; send_tag is the neighbour's recv_tag. */
typedef struct {
  int32_t peer;
  int32_t send_tag;
  int32_t recv_tag;
  hiplaunch_mpi_view send;
  hiplaunch_mpi_view recv;
} hiplaunch_mpi_halo;

/* The message of the calling thread's last error; empty if there was none. Good until the thread's next error. */
const char* hiplaunch_mpi_error(void);

/* Makes a communicator of the ranks of another. Collective. `device` is the device's number, or -1 for that of the local rank.
 * `timeout` is in seconds; 0 or less: none. */
int hiplaunch_mpi_open(int32_t fortran_comm, int32_t device, double timeout, hiplaunch_mpi_comm** comm);

/* Waits for what was enqueued, and closes the communicator. Null is allowed. */
int hiplaunch_mpi_close(hiplaunch_mpi_comm* comm);

/* The number of the communicator's device. */
int hiplaunch_mpi_device(const hiplaunch_mpi_comm* comm, int32_t* device);

/* Fails if the communicator has failed, here or on another rank. */
int hiplaunch_mpi_check(const hiplaunch_mpi_comm* comm);

/* Fails the communicator on all ranks, with a report. */
int hiplaunch_mpi_fail(const hiplaunch_mpi_comm* comm, const char* report);

/* Checks that all ranks have the same code object for a kernel. Collective; waits. */
int hiplaunch_mpi_check_code(const hiplaunch_mpi_comm* comm, const char* kernel, const void* code, size_t bytes);

/* The operations. Each returns a ticket, which is closed by hiplaunch_mpi_wait or hiplaunch_mpi_ticket_close. */
int hiplaunch_mpi_send(const hiplaunch_mpi_comm* comm, void* stream, const hiplaunch_mpi_view* view, int32_t to,
                       int32_t tag, hiplaunch_mpi_ticket** ticket);
int hiplaunch_mpi_recv(const hiplaunch_mpi_comm* comm, void* stream, const hiplaunch_mpi_view* view, int32_t from,
                       int32_t tag, hiplaunch_mpi_ticket** ticket);
int hiplaunch_mpi_exchange(const hiplaunch_mpi_comm* comm, void* stream, const hiplaunch_mpi_halo* halos, size_t count,
                           hiplaunch_mpi_ticket** ticket);
int hiplaunch_mpi_all_reduce(const hiplaunch_mpi_comm* comm, void* stream, const hiplaunch_mpi_view* view, int32_t type,
                             int32_t how, hiplaunch_mpi_ticket** ticket);
int hiplaunch_mpi_broadcast(const hiplaunch_mpi_comm* comm, void* stream, const hiplaunch_mpi_view* view, int32_t root,
                            hiplaunch_mpi_ticket** ticket);
int hiplaunch_mpi_all_gather(const hiplaunch_mpi_comm* comm, void* stream, const hiplaunch_mpi_view* from,
                             const hiplaunch_mpi_view* into, hiplaunch_mpi_ticket** ticket);
int hiplaunch_mpi_barrier(const hiplaunch_mpi_comm* comm, void* stream, hiplaunch_mpi_ticket** ticket);

/* Makes work that is enqueued on a stream from now on wait for the operation. The host does not wait. */
int hiplaunch_mpi_before(const hiplaunch_mpi_comm* comm, const hiplaunch_mpi_ticket* ticket, void* stream);

/* Waits for the operation, and closes the ticket, also after an error. */
int hiplaunch_mpi_wait(hiplaunch_mpi_ticket* ticket);

/* Whether the operation is done: 1 or 0. */
int hiplaunch_mpi_is_done(const hiplaunch_mpi_ticket* ticket, int32_t* done);

/* Closes a ticket. The operation goes on. Null is allowed. */
int hiplaunch_mpi_ticket_close(hiplaunch_mpi_ticket* ticket);

#ifdef __cplusplus
}
#endif

#endif
