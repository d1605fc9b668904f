// Runs kernels by HSA's runtime alone: memory, signals, queues, code and faults on two devices. Prints what it finds. Its argument is the code
// object of hip/vector.hip. It needs no header of AMD's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { uint64_t handle; } handle_t;
typedef struct {
  uint32_t type, features;
  char *base;
  handle_t doorbell;
  uint32_t size, reserved;
  uint64_t id;
} queue_t;
typedef struct {
  uint16_t header, setup, workgroup[3], reserved;
  uint32_t grid[3], private_bytes, group_bytes;
  uint64_t object;
  void *arguments;
  uint64_t reserved2;
  handle_t completion;
} dispatch_t;
typedef struct {
  uint16_t header, format;
  uint32_t reserved;
  handle_t signals[5];
  uint64_t reserved2;
  handle_t completion;
} barrier_t;
typedef struct {
  uint32_t size, type;
  void *agent, *host;
  size_t bytes;
  void *user;
  handle_t owner;
  uint32_t flags;
  bool registered;
} pointer_info_t;
typedef struct { uint32_t type; uint64_t agent, address; uint32_t reasons; } event_t;

enum { HOST = 0, DEVICES = 2 };
static handle_t agents[8], pools[8][4];
static int agent_count;
static void *hsa;

static void *find(const char *name) {
  void *function = dlsym(hsa, name);
  if (!function) printf("no %s\n", name), exit(1);
  return function;
}
// The functions' types, as far as calls here need them.
#define HSA(name, result, ...) ((result(*)(__VA_ARGS__))find(#name))
#define CHECK(call)                                              \
  do {                                                           \
    uint32_t status = (call);                                    \
    if (status) printf("%s: %x\n", #call, status), exit(1);      \
  } while (0)

static uint32_t add_agent(handle_t agent, void *unused) {
  (void)unused;
  agents[agent_count++] = agent;
  return 0;
}
static uint32_t add_pool(handle_t pool, void *next) {
  handle_t **at = next;
  *(*at)++ = pool;
  return 0;
}
static void *allocate(handle_t pool, size_t bytes) {
  void *memory = NULL;
  CHECK(HSA(hsa_amd_memory_pool_allocate, uint32_t, handle_t, size_t, uint32_t, void **)(pool, bytes, 0, &memory));
  return memory;
}
static handle_t new_signal(int64_t value) {
  handle_t signal;
  CHECK(HSA(hsa_signal_create, uint32_t, int64_t, uint32_t, void *, handle_t *)(value, 0, NULL, &signal));
  return signal;
}
static int64_t load(handle_t signal) { return HSA(hsa_signal_load_scacquire, int64_t, handle_t)(signal); }
static void store(handle_t signal, int64_t value) { HSA(hsa_signal_store_screlease, void, handle_t, int64_t)(signal, value); }
// At most ten seconds.
static int64_t wait_below(handle_t signal, int64_t value) {
  return HSA(hsa_signal_wait_scacquire, int64_t, handle_t, uint32_t, int64_t, uint64_t, uint32_t)(signal, 2, value, 10000000000, 0);
}

static queue_t *new_queue(int device, uint32_t size, void (*callback)(uint32_t, queue_t *, void *), void *data) {
  queue_t *queue;
  CHECK(HSA(hsa_queue_create, uint32_t, handle_t, uint32_t, uint32_t, void *, void *, uint32_t, uint32_t, queue_t **)(
      agents[1 + device], size, 0, callback, data, 0, 0, &queue));
  return queue;
}
static void enqueue(queue_t *queue, void *packet, uint16_t type) {
  uint64_t index = HSA(hsa_queue_add_write_index_screlease, uint64_t, queue_t *, uint64_t)(queue, 1);
  while (index - HSA(hsa_queue_load_read_index_scacquire, uint64_t, queue_t *)(queue) >= queue->size) usleep(10);
  char *place = queue->base + index % queue->size * 64;
  memcpy(place + 2, (char *)packet + 2, 62);
  // With the barrier bit, and fences of the system.
  atomic_store_explicit((_Atomic uint16_t *)place, type | 1 << 8 | 2 << 9 | 2 << 11, memory_order_release);
  store(queue->doorbell, index);
}

typedef struct { uint64_t object; uint32_t arguments, group, private; } kernel_t;
static kernel_t kernel(handle_t executable, int device, const char *name) {
  handle_t symbol;
  kernel_t found = {0};
  CHECK(HSA(hsa_executable_get_symbol_by_name, uint32_t, handle_t, const char *, handle_t *, handle_t *)(
      executable, name, &agents[1 + device], &symbol));
  uint32_t (*info)(handle_t, uint32_t, void *) = find("hsa_executable_symbol_get_info");
  CHECK(info(symbol, 22, &found.object));
  CHECK(info(symbol, 11, &found.arguments));
  CHECK(info(symbol, 13, &found.group));
  CHECK(info(symbol, 14, &found.private));
  return found;
}
static void dispatch(queue_t *queue, kernel_t kernel, void *arguments, uint32_t items, handle_t completion) {
  dispatch_t packet = {.setup = 1, .workgroup = {64}, .grid = {items}, .private_bytes = kernel.private,
                       .group_bytes = kernel.group, .object = kernel.object, .arguments = arguments, .completion = completion};
  enqueue(queue, &packet, 2);
}
static void copy(void *to, int to_agent, const void *from, int from_agent, size_t bytes, handle_t after, handle_t done) {
  CHECK(HSA(hsa_amd_memory_async_copy, uint32_t, void *, handle_t, const void *, handle_t, size_t, uint32_t, handle_t *, handle_t)(
      to, agents[to_agent], from, agents[from_agent], bytes, after.handle ? 1 : 0, &after, done));
}

static atomic_int handled;
static bool handler(int64_t value, void *data) {
  printf("handler: %ld, %s\n", (long)value, (char *)data);
  atomic_store(&handled, 1);
  return false;
}
static atomic_int failed;
static void on_error(uint32_t status, queue_t *queue, void *data) {
  printf("%s failed: %x, its own queue: %d\n", (char *)data, status, queue->size == 64);
  atomic_store(&failed, 1);
}
static uint64_t bad_address;
static uint32_t on_event(const event_t *event, void *data) {
  printf("event %u: agent %d, address %s, reasons %u, %s\n", event->type, event->agent == agents[1].handle,
         event->address == bad_address ? "as written" : "another", event->reasons, (char *)data);
  return 0;
}
static void await(atomic_int *flag) {
  for (int i = 0; i < 100000 && !atomic_load(flag); ++i) usleep(100);
}
static void *later(void *signal) {
  usleep(20000);
  store(*(handle_t *)signal, 0);
  return NULL;
}

static handle_t load_code(const char *file) {
  int code = open(file, O_RDONLY);
  handle_t reader, executable;
  CHECK(HSA(hsa_code_object_reader_create_from_file, uint32_t, int, handle_t *)(code, &reader));
  CHECK(HSA(hsa_executable_create_alt, uint32_t, int, int, const char *, handle_t *)(1, 0, NULL, &executable));
  for (int device = 0; device < DEVICES; ++device)
    CHECK(HSA(hsa_executable_load_agent_code_object, uint32_t, handle_t, handle_t, handle_t, const char *, handle_t *)(
        executable, agents[1 + device], reader, NULL, NULL));
  CHECK(HSA(hsa_executable_freeze, uint32_t, handle_t, const char *)(executable, NULL));
  uint32_t again = HSA(hsa_executable_freeze, uint32_t, handle_t, const char *)(executable, NULL);
  handle_t symbol;
  uint32_t unknown = HSA(hsa_executable_get_symbol_by_name, uint32_t, handle_t, const char *, handle_t *, handle_t *)(
      executable, "none.kd", NULL, &symbol);
  printf("code: frozen %x, unknown %x\n", again, unknown);
  CHECK(HSA(hsa_code_object_reader_destroy, uint32_t, handle_t)(reader));
  close(code);
  return executable;
}

// The last workgroup is needed in part.
enum { COUNT = 1000, ITEMS = 1024 };
typedef struct { const float *a, *b; float *sum; int count; } arguments_t;

// Sums on a device, with copies before and after, ordered by signals alone.
static void sums(handle_t executable) {
  queue_t *queue = new_queue(0, 64, on_error, "sums");
  kernel_t add = kernel(executable, 0, "vadd_f32.kd");
  float *input = allocate(pools[HOST][0], 2 * COUNT * sizeof(float)), *output = allocate(pools[HOST][0], COUNT * sizeof(float));
  float *device = allocate(pools[1][0], 3 * COUNT * sizeof(float));
  for (int i = 0; i < COUNT; ++i) input[i] = i, input[COUNT + i] = 2 * i;
  arguments_t *arguments = allocate(pools[HOST][1], sizeof(arguments_t));
  CHECK(HSA(hsa_amd_agents_allow_access, uint32_t, uint32_t, handle_t *, uint32_t *, void *)(1, &agents[1], NULL, arguments));
  *arguments = (arguments_t){device, device + COUNT, device + 2 * COUNT, COUNT};
  handle_t copied = new_signal(1), summed = new_signal(1), done = new_signal(1), none = {0};
  barrier_t barrier = {.signals = {copied}};
  enqueue(queue, &barrier, 3);
  dispatch(queue, add, arguments, ITEMS, summed);
  copy(output, HOST, device + 2 * COUNT, 1, COUNT * sizeof(float), summed, done);
  usleep(1000);
  printf("sums: %ld before the copy", (long)load(summed));
  copy(device, 1, input, HOST, 2 * COUNT * sizeof(float), none, copied);
  wait_below(done, 1);
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) wrong += output[i] != 3 * i;
  uint64_t times[2] = {0};
  CHECK(HSA(hsa_amd_profiling_get_dispatch_time, uint32_t, handle_t, handle_t, uint64_t *)(agents[1], summed, times));
  // The host sees the device's memory.
  printf(", %d wrong, took time: %d, last by the host: %g\n", wrong, times[0] > 0 && times[1] > times[0], device[3 * COUNT - 1]);

  // More packets than the queue has room for.
  handle_t all = new_signal(500);
  for (int i = 0; i < 500; ++i) dispatch(queue, add, arguments, 64, all);
  printf("500 launches: %ld\n", (long)wait_below(all, 1));

  // Memory of the program's own.
  float *own = malloc(COUNT * sizeof(float)), *locked;
  memset(own, 0, COUNT * sizeof(float));
  CHECK(HSA(hsa_amd_memory_lock, uint32_t, void *, size_t, handle_t *, int, void **)(own, COUNT * sizeof(float), NULL, 0, (void **)&locked));
  arguments->sum = locked;
  store(summed, 1);
  dispatch(queue, add, arguments, ITEMS, summed);
  wait_below(summed, 1);
  pointer_info_t info = {.size = sizeof info};
  uint32_t (*about)(const void *, pointer_info_t *, void *(*)(size_t), uint32_t *, handle_t **) = find("hsa_amd_pointer_info");
  CHECK(about(own + 1, &info, NULL, NULL, NULL));
  printf("locked: %g, type %u, its addresses: %d\n", own[COUNT - 1], info.type, info.agent == locked && info.host == own);
  CHECK(HSA(hsa_amd_memory_unlock, uint32_t, void *)(own));
  // What is no memory of the program cannot be locked.
  uint32_t (*lock)(void *, size_t, handle_t *, int, void **) = find("hsa_amd_memory_lock");
  printf("no memory locked: %x\n", lock(own, (size_t)1 << 46, NULL, 0, (void **)&locked));
  uint32_t count;
  handle_t *with_access;
  CHECK(about(device + 1, &info, malloc, &count, &with_access));
  printf("device memory: type %u, begins: %d, owner %d, %u with access\n", info.type, info.agent == device,
         info.owner.handle == agents[1].handle, count);
  CHECK(about(own, &info, NULL, NULL, NULL));
  printf("unlocked: type %u, freed twice: ", info.type);
  uint32_t (*release)(void *) = find("hsa_amd_memory_pool_free");
  CHECK(release(device));
  printf("%x\n", release(device));
  CHECK(HSA(hsa_queue_destroy, uint32_t, queue_t *)(queue));
  printf("destroyed twice: %x\n", HSA(hsa_queue_destroy, uint32_t, queue_t *)(queue));
}

// What is as large as a huge page is aligned to one, whatever lies before it: the heap of kernels needs it.
static void alignment(void) {
  size_t page = 4096, huge = 2 << 20, sizes[] = {page, huge, page, 3 * huge, 4 * page, huge};
  printf("aligned:");
  for (int i = 0; i < 6; i++) {
    size_t of = sizes[i] < huge ? sizes[i] : huge;
    printf(" %d", (size_t)allocate(pools[1][0], sizes[i]) % of == 0);
  }
  printf("\n");
}

static void signals(void) {
  queue_t *queue = new_queue(0, 64, on_error, "signals");
  handle_t a = new_signal(5), b = new_signal(7), done = new_signal(1);
  CHECK(HSA(hsa_amd_signal_async_handler, uint32_t, handle_t, uint32_t, int64_t, void *, void *)(a, 0, 8, handler, "its data"));
  HSA(hsa_signal_add_relaxed, void, handle_t, int64_t)(a, 2);
  int64_t before = HSA(hsa_signal_exchange_scacquire, int64_t, handle_t, int64_t)(b, 9);
  int64_t found = HSA(hsa_signal_cas_relaxed, int64_t, handle_t, int64_t, int64_t)(b, 8, 1);
  HSA(hsa_signal_or_relaxed, void, handle_t, int64_t)(a, 8);
  printf("signals: %ld %ld %ld %ld\n", (long)load(a), (long)load(b), (long)before, (long)found);
  store(a, 8);
  await(&handled);
  // A barrier for any signal, and one for bits of a value.
  store(b, 1);
  barrier_t any = {.signals = {a, b}, .completion = done};
  enqueue(queue, &any, 5);
  pthread_t thread;
  pthread_create(&thread, NULL, later, &b);
  printf("any: %ld", (long)wait_below(done, 1));
  pthread_join(thread, NULL);
  struct { uint16_t header, format; uint32_t reserved; handle_t signal; int64_t value, mask; uint32_t condition, r; uint64_t r2, r3; handle_t completion; }
      value = {.format = 2, .signal = a, .value = 4, .mask = 12, .completion = done};
  store(done, 1);
  enqueue(queue, &value, 0);
  usleep(1000);
  printf(", bits: %ld before", (long)load(done));
  store(a, 0x37 & ~8);
  printf(", %ld after\n", (long)wait_below(done, 1));
  handle_t both[] = {a, b};
  uint32_t conditions[] = {0, 0};
  int64_t values[] = {1, 0}, seen = 5;
  uint32_t index = HSA(hsa_amd_signal_wait_any, uint32_t, uint32_t, handle_t *, uint32_t *, int64_t *, uint64_t, uint32_t, int64_t *)(
      2, both, conditions, values, 1000000, 0, &seen);
  uint32_t none = HSA(hsa_amd_signal_wait_any, uint32_t, uint32_t, handle_t *, uint32_t *, int64_t *, uint64_t, uint32_t, int64_t *)(
      1, both, conditions, values, 1000, 0, &seen);
  printf("wait for any: %u with %ld, none: %x\n", index, (long)seen, none);
  CHECK(HSA(hsa_signal_destroy, uint32_t, handle_t)(a));
  printf("signal destroyed twice: %x\n", HSA(hsa_signal_destroy, uint32_t, handle_t)(a));
  // A packet that is none of AMD's that are executed.
  value.format = 1;
  enqueue(queue, &value, 0);
  await(&failed);
  atomic_store(&failed, 0);
  CHECK(HSA(hsa_queue_destroy, uint32_t, queue_t *)(queue));
}

// A device's memory for another's kernels, and a fault on one of two.
static void two_devices(handle_t executable) {
  queue_t *first = new_queue(0, 64, on_error, "the first"), *second = new_queue(1, 128, on_error, "the second");
  arguments_t *arguments = allocate(pools[HOST][1], 2 * sizeof(arguments_t));
  float *memory = allocate(pools[1][0], 3 * COUNT * sizeof(float));
  for (int i = 0; i < 2 * COUNT; ++i) memory[i] = 1;
  CHECK(HSA(hsa_amd_agents_allow_access, uint32_t, uint32_t, handle_t *, uint32_t *, void *)(1, &agents[2], NULL, memory));
  arguments[0] = (arguments_t){memory, memory + COUNT, memory + 2 * COUNT, COUNT};
  handle_t done = new_signal(1);
  dispatch(second, kernel(executable, 1, "vadd_f32.kd"), &arguments[0], ITEMS, done);
  printf("of another device: %ld", (long)wait_below(done, 1));
  printf(", %g\n", memory[2 * COUNT]);
  CHECK(HSA(hsa_amd_register_system_event_handler, uint32_t, void *, void *)(on_event, "its data"));
  bad_address = (uint64_t)memory + (1 << 20);
  arguments[1] = (arguments_t){memory, memory + COUNT, (float *)bad_address, COUNT};
  store(done, 1);
  dispatch(first, kernel(executable, 0, "vadd_f32.kd"), &arguments[1], ITEMS, done);
  await(&failed);
  printf("after the fault: %ld", (long)load(done));
  dispatch(second, kernel(executable, 1, "vadd_f32.kd"), &arguments[0], ITEMS, done);
  printf(", the other device: %ld\n", (long)wait_below(done, 1));
  struct { uint32_t (*host)(const void *, const void **), (*segments)(void *, size_t *), (*executable)(const void *, handle_t *); } loader;
  CHECK(HSA(hsa_system_get_major_extension_table, uint32_t, uint16_t, uint16_t, size_t, void *)(0x201, 1, sizeof loader, &loader));
  const void *host = NULL, *object = (void *)kernel(executable, 1, "vadd_f32.kd").object;
  handle_t of = {0};
  size_t count = 0;
  CHECK(loader.host(object, &host));
  CHECK(loader.executable(object, &of));
  CHECK(loader.segments(NULL, &count));
  printf("loader: the same address %d, executable %d, %zu segments, no code: %x\n", host == object, of.handle == executable.handle, count,
         loader.host(memory, &host));
  CHECK(HSA(hsa_queue_destroy, uint32_t, queue_t *)(first));
  CHECK(HSA(hsa_queue_destroy, uint32_t, queue_t *)(second));
  CHECK(HSA(hsa_executable_destroy, uint32_t, handle_t)(executable));
  printf("executable destroyed twice: %x\n", HSA(hsa_executable_destroy, uint32_t, handle_t)(executable));
}

int main(int count, char **values) {
  setvbuf(stdout, NULL, _IONBF, 0);
  hsa = dlopen("libhsa-runtime64.so.1", RTLD_NOW);
  if (!hsa || count < 2) printf("%s\n", hsa ? "no code object" : dlerror()), exit(1);
  CHECK(HSA(hsa_init, uint32_t, void)());
  CHECK(HSA(hsa_iterate_agents, uint32_t, void *, void *)(add_agent, NULL));
  for (int i = 0; i < agent_count; ++i) {
    handle_t *next = pools[i];
    CHECK(HSA(hsa_amd_agent_iterate_memory_pools, uint32_t, handle_t, void *, void *)(agents[i], add_pool, &next));
  }
  handle_t executable = load_code(values[1]);
  sums(executable);
  alignment();
  signals();
  two_devices(executable);
  printf("shut down: %x\n", HSA(hsa_shut_down, uint32_t, void)());
}
