// A stand-in for RCCL: the same functions, for ranks that are threads of one process. It writes down each call, and
// computes on memory that the test makes host memory, in the order of streams that the test's callback enqueues on.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 8, LOG = 1 << 20 };
typedef struct { char internal[128]; } ncclUniqueId;

// What the test provides: work on a stream, and the host's address of device memory.
static void (*enqueue)(void* stream, void (*work)(void*), void* data);
static void* (*host)(const void* device, size_t bytes);
void stand_in_start(void (*e)(void*, void (*)(void*), void*), void* (*h)(const void*, size_t)) { enqueue = e; host = h; }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char record[LOG];
static size_t used;
#define NOTE(...) (pthread_mutex_lock(&lock), used += snprintf(record + used, LOG - used, __VA_ARGS__), pthread_mutex_unlock(&lock))

// Copies what was written down, and forgets it.
void stand_in_log(char* out, size_t bytes) {
  pthread_mutex_lock(&lock);
  snprintf(out, bytes, "%s", record);
  used = 0;
  record[0] = 0;
  pthread_mutex_unlock(&lock);
}

// The next call of this name fails with this code; "async" is the state of all communicators.
static char failing[64];
static int failure, async_state;
void stand_in_fail(const char* name, int code) {
  if (!strcmp(name, "async")) async_state = code;
  else snprintf(failing, sizeof failing, "%s", name), failure = code;
}
static int fails(const char* name) {
  if (strcmp(failing, name)) return 0;
  failing[0] = 0;
  return failure;
}

typedef struct Message { struct Message* next; int from, to; size_t bytes; char* data; } Message;
typedef struct World {
  struct World* next;
  ncclUniqueId id;
  int size, joined, arrived, round;
  const char* send[RANKS];
  Message* messages;
} World;
typedef struct { World* world; int rank; } Comm;
static World* worlds;

static void barrier(World* w) { // under the lock
  int round = w->round;
  if (++w->arrived == w->size) {
    w->arrived = 0;
    w->round++;
    pthread_cond_broadcast(&changed);
  }
  while (w->round == round) pthread_cond_wait(&changed, &lock);
}

const char* ncclGetErrorString(int code) {
  return code == 0 ? "no error" : code == 4 ? "invalid argument" : code == 6 ? "remote process exited" : "some error";
}
int ncclGetUniqueId(ncclUniqueId* id) {
  static int number;
  memset(id, 0, sizeof *id);
  pthread_mutex_lock(&lock);
  snprintf(id->internal, sizeof id->internal, "communicator %d", ++number);
  pthread_mutex_unlock(&lock);
  return fails("ncclGetUniqueId");
}
int ncclCommInitRank(Comm** out, int ranks, ncclUniqueId id, int rank) {
  int code = fails("ncclCommInitRank");
  if (code) return code;
  NOTE("%d init of %d: %s\n", rank, ranks, id.internal);
  pthread_mutex_lock(&lock);
  World* w = worlds;
  while (w && memcmp(&w->id, &id, sizeof id)) w = w->next;
  if (!w) {
    w = calloc(1, sizeof *w);
    w->id = id;
    w->size = ranks;
    w->next = worlds;
    worlds = w;
  }
  barrier(w);
  pthread_mutex_unlock(&lock);
  *out = malloc(sizeof **out);
  **out = (Comm){w, rank};
  return 0;
}
int ncclCommDestroy(Comm* c) { NOTE("%d destroy\n", c->rank); free(c); return 0; }
int ncclCommAbort(Comm* c) { NOTE("%d abort\n", c->rank); free(c); return 0; }
int ncclCommGetAsyncError(Comm* c, int* state) { (void)c; *state = async_state; return 0; }

typedef struct Call {
  struct Call* next;
  char kind; // 'r'educe, 'b'roadcast, 'g'ather, 's'catter, '>' send, '<' receive
  const void* from;
  void* to;
  size_t count;
  int type, op, peer;
  Comm comm;
  void* stream;
} Call;
static _Thread_local int depth;
static _Thread_local Call *queued, **last;

static size_t size_of(int type) { return (size_t[]){1, 1, 4, 4, 8, 8, 2, 4, 8, 2}[type]; }
#define COMBINE(T) for (size_t i = 0; i < n; i++) { T *a = (T*)to + i, b = ((const T*)from)[i]; \
  *a = op == 0 ? *a + b : op == 1 ? *a * b : op == 2 ? (*a > b ? *a : b) : (*a < b ? *a : b); }
static void combine(void* to, const void* from, size_t n, int type, int op) {
  switch (type) {
    case 2: COMBINE(int) break;
    case 3: COMBINE(unsigned) break;
    case 5: COMBINE(unsigned long long) break;
    case 7: COMBINE(float) break;
    case 8: COMBINE(double) break;
    default: abort(); // a type that no test reduces
  }
}

static void run(void* data) {
  Call* c = data;
  World* w = c->comm.world;
  int me = c->comm.rank;
  size_t bytes = c->count * size_of(c->type);
  pthread_mutex_lock(&lock);
  if (c->kind == '>') {
    Message** end = &w->messages;
    while (*end) end = &(*end)->next;
    *end = malloc(sizeof **end);
    **end = (Message){0, me, c->peer, bytes, memcpy(malloc(bytes), c->from, bytes)};
    pthread_cond_broadcast(&changed);
  } else if (c->kind == '<') {
    for (;;) {
      Message** at = &w->messages;
      while (*at && ((*at)->from != c->peer || (*at)->to != me)) at = &(*at)->next;
      if (*at) {
        Message* m = *at;
        *at = m->next;
        memcpy(c->to, m->data, bytes < m->bytes ? bytes : m->bytes);
        free(m->data);
        free(m);
        break;
      }
      pthread_cond_wait(&changed, &lock);
    }
  } else {
    size_t writes = c->kind == 'g' ? bytes * w->size : bytes;
    w->send[me] = c->from;
    barrier(w);
    char* result = malloc(writes);
    for (int r = 0; r < w->size; r++) {
      const char* from = w->send[r] + (c->kind == 's' ? me * bytes : 0);
      if (c->kind == 'g') memcpy(result + r * bytes, from, bytes);
      else if (c->kind == 'b') { if (r == c->peer) memcpy(result, from, bytes); }
      else if (r == 0) memcpy(result, from, bytes);
      else combine(result, from, c->count, c->type, c->op);
    }
    barrier(w); // all have read
    memcpy(c->to, result, writes);
    free(result);
    barrier(w); // `send` is free again
  }
  pthread_mutex_unlock(&lock);
  free(c);
}

static int add(const char* name, Call call) {
  int code = fails(name);
  if (code) return code;
  NOTE("%d %s %zu type %d op %d peer %d on %zu%s\n", call.comm.rank, name, call.count, call.type, call.op, call.peer,
       (size_t)call.stream, depth ? " grouped" : "");
  size_t bytes = call.count * size_of(call.type), all = bytes * call.comm.world->size;
  if (call.from) call.from = host(call.from, call.kind == 's' ? all : bytes);
  if (call.to) call.to = host(call.to, call.kind == 'g' ? all : bytes);
  Call* copy = memcpy(malloc(sizeof call), &call, sizeof call);
  if (depth) { *last = copy; last = &copy->next; }
  else enqueue(call.stream, run, copy);
  return 0;
}
int ncclGroupStart(void) {
  NOTE("group\n");
  if (!depth++) queued = 0, last = &queued;
  return 0;
}
int ncclGroupEnd(void) {
  NOTE("end of group\n");
  if (--depth) return 0;
  // Sends first, as they do not wait: the receives of a group do not hold up its sends.
  Call *receives = 0, **end = &receives;
  for (Call *c = queued, *next; c; c = next) {
    next = c->next;
    c->next = 0;
    if (c->kind == '<') *end = c, end = &c->next;
    else enqueue(c->stream, run, c);
  }
  for (Call *c = receives, *next; c; c = next) {
    next = c->next;
    enqueue(c->stream, run, c);
  }
  return fails("ncclGroupEnd");
}

int ncclAllReduce(const void* f, void* t, size_t n, int type, int op, Comm* c, void* s) {
  return add("ncclAllReduce", (Call){0, 'r', f, t, n, type, op, -1, *c, s});
}
int ncclBroadcast(const void* f, void* t, size_t n, int type, int root, Comm* c, void* s) {
  return add("ncclBroadcast", (Call){0, 'b', f, t, n, type, -1, root, *c, s});
}
int ncclAllGather(const void* f, void* t, size_t n, int type, Comm* c, void* s) {
  return add("ncclAllGather", (Call){0, 'g', f, t, n, type, -1, -1, *c, s});
}
int ncclReduceScatter(const void* f, void* t, size_t n, int type, int op, Comm* c, void* s) {
  return add("ncclReduceScatter", (Call){0, 's', f, t, n, type, op, -1, *c, s});
}
int ncclSend(const void* f, size_t n, int type, int peer, Comm* c, void* s) {
  return add("ncclSend", (Call){0, '>', f, 0, n, type, -1, peer, *c, s});
}
int ncclRecv(void* t, size_t n, int type, int peer, Comm* c, void* s) {
  return add("ncclRecv", (Call){0, '<', 0, t, n, type, -1, peer, *c, s});
}
