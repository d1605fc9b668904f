/* What a libamdhip64 does where versions differ, seen by a program that uses nothing else: each quirk that the HIP driver
 * or an exception of .ci/run relies on. README.md says what each is for; expected.txt has what each version does.
 *
 *   quirks LIBRARY KERNELS [QUIRK]
 *
 * prints "QUIRK RESULT" for each. KERNELS is the folder of probe.gfx90a.co and tensor.gfx90a.co. Each runs in a process of its own, since HIP can't be
 * used on both sides of a fork, and since some of them crash or hang: one that is not done after 10 seconds "hangs".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <float.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* HIP's declarations, as far as they are used; every function returns a hipError_t. */
typedef void *Handle;
typedef struct {
  unsigned x, y, z;
} Dim3;
typedef struct {
  Dim3 block;
  void **extra;
  Handle function;
  Dim3 grid;
  void **arguments;
  unsigned lds;
} KernelNode;
typedef struct {
  void *dst;
  unsigned element_size;
  size_t height, pitch;
  unsigned value;
  size_t width;
} MemsetNode;

typedef struct {
  char reserved[64];
} IpcHandle;

static int (*hipInit)(unsigned);
static int (*hipRuntimeGetVersion)(int *);
static int (*hipIpcGetMemHandle)(IpcHandle *, void *);
static int (*hipIpcOpenMemHandle)(void **, IpcHandle, unsigned);
static int (*hipMalloc)(void **, size_t);
static int (*hipMallocAsync)(void **, size_t, Handle);
static int (*hipMemset)(void *, int, size_t);
static int (*hipMemcpyDtoH)(void *, void *, size_t);
static int (*hipMemcpyHtoD)(void *, void *, size_t);
static int (*hipStreamCreateWithFlags)(Handle *, unsigned);
static int (*hipStreamDestroy)(Handle);
static int (*hipStreamSynchronize)(Handle);
static int (*hipStreamQuery)(Handle);
static int (*hipStreamWaitEvent)(Handle, Handle, unsigned);
static int (*hipEventCreateWithFlags)(Handle *, unsigned);
static int (*hipEventRecord)(Handle, Handle);
static int (*hipDeviceSynchronize)(void);
static int (*hipLaunchHostFunc)(Handle, void (*)(void *), void *);
static int (*hipModuleLoad)(Handle *, const char *);
static int (*hipModuleGetFunction)(Handle *, Handle, const char *);
static int (*hipModuleLaunchKernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
                                    void **, void **);
static int (*hipGraphCreate)(Handle *, unsigned);
static int (*hipGraphAddKernelNode)(Handle *, Handle, const Handle *, size_t, const KernelNode *);
static int (*hipGraphAddMemsetNode)(Handle *, Handle, const Handle *, size_t, const MemsetNode *);
static int (*hipGraphInstantiate)(Handle *, Handle, Handle *, char *, size_t);
static int (*hipGraphLaunch)(Handle, Handle);
static int (*hipStreamBeginCapture)(Handle, int);
static int (*hipStreamEndCapture)(Handle, Handle *);
static int (*hipStreamIsCapturing)(Handle, int *);
static int (*hipModuleLaunchCooperativeKernel)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                               unsigned, Handle, void **);
static int (*hipMemcpyHtoDAsync)(void *, void *, size_t, Handle);

enum { INVALID_VALUE = 1, NON_BLOCKING = 1, GLOBAL = 0 /* hipStreamCaptureModeGlobal */ };

static Handle module;   /* probe.gfx90a.co */
static Handle bump;     /* void bump(unsigned *p, int n): p[i] += 1 for i < n */
static Handle quotient; /* void div_f32_tt(const float *x, const float *y, float *out, unsigned n): out[i] = x[i] / y[i] */

#define CHECK(call)                                                                    \
  do {                                                                                 \
    int code_ = (call);                                                                \
    if (code_ != 0) printf("fails: %s is %d\n", #call, code_), fflush(stdout), _exit(0); \
  } while (0)

static void say(const char *result) {
  puts(result);
  fflush(stdout);
  _exit(0); /* HIP's own destructors may wait for what a quirk left behind. */
}

static void say_code(int code) {
  char text[16];
  snprintf(text, sizeof text, "%d", code);
  say(text);
}

static Handle stream(void) {
  Handle made;
  CHECK(hipStreamCreateWithFlags(&made, NON_BLOCKING));
  return made;
}

static unsigned *zeroed(size_t words) {
  void *made;
  CHECK(hipMalloc(&made, words * 4));
  CHECK(hipMemset(made, 0, words * 4));
  CHECK(hipStreamSynchronize(NULL)); /* Streams that do not block do not wait for the null stream. */
  return made;
}

/* Adds 1 to *p. */
static void launch_bump(unsigned *p, Handle s) {
  struct {
    unsigned *p;
    int n;
  } arguments = {p, 1};
  size_t bytes = sizeof arguments - 4; /* without the padding */
  void *extra[] = {(void *)1, &arguments, (void *)2, &bytes, (void *)3};
  CHECK(hipModuleLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra));
}

/* ---- names ---- */

static void empty_function_name(void) {
  Handle function;
  say_code(hipModuleGetFunction(&function, module, ""));
}

static void unknown_function_name(void) {
  Handle function;
  say_code(hipModuleGetFunction(&function, module, "no_such_kernel"));
}

/* ---- memory of other processes ---- */

/* Which flag of hipIpcOpenMemHandle is not refused as such. The software device shares no memory, so the handle is not
 * whole and the call fails anyway. */
static void ipc_open_flags(void) {
  IpcHandle handle = {{0}};
  void *shared;
  CHECK(hipMalloc(&shared, 4096));
  (void)hipIpcGetMemHandle(&handle, shared);
  for (unsigned flags = 0; flags < 8; flags++) {
    void *memory;
    if (hipIpcOpenMemHandle(&memory, handle, flags) != INVALID_VALUE) say_code((int)flags);
  }
  say("none");
}

/* ---- arithmetic: the device's ---- */

static void subnormal_quotient(void) {
  float x = 1.0f, y = FLT_MAX, out;
  struct {
    unsigned *x, *y, *out;
    unsigned n;
  } arguments = {zeroed(1), zeroed(1), zeroed(1), 1};
  size_t bytes = sizeof arguments - 4;
  void *extra[] = {(void *)1, &arguments, (void *)2, &bytes, (void *)3};
  Handle s = stream();
  CHECK(hipMemcpyHtoD(arguments.x, &x, 4));
  CHECK(hipMemcpyHtoD(arguments.y, &y, 4));
  CHECK(hipModuleLaunchKernel(quotient, 1, 1, 1, 1, 1, 1, 0, s, NULL, extra));
  CHECK(hipStreamSynchronize(s));
  CHECK(hipMemcpyDtoH(&out, arguments.out, 4));
  say(out == x / y ? "right" : out != out ? "nan" : "wrong");
}

/* ---- captures ---- */

/* Ends the capture of s, and says whether what added to *p there ran. */
static void say_whether_it_ran(unsigned *p, Handle s) {
  Handle graph;
  unsigned value;
  CHECK(hipStreamEndCapture(s, &graph));
  CHECK(hipStreamSynchronize(s));
  CHECK(hipMemcpyDtoH(&value, p, 4));
  say(value ? "runs" : "captured");
}

static void captured_launch(void) {
  unsigned *p = zeroed(1);
  Handle s = stream();
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  launch_bump(p, s);
  say_whether_it_ran(p, s);
}

static void captured_cooperative_launch(void) {
  unsigned *p = zeroed(1);
  int n = 1;
  void *arguments[] = {&p, &n};
  Handle s = stream();
  if (!hipModuleLaunchCooperativeKernel) say("no-cooperative-launches");
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  CHECK(hipModuleLaunchCooperativeKernel(bump, 1, 1, 1, 1, 1, 1, 0, s, arguments));
  say_whether_it_ran(p, s);
}

static void captured_graph_launch(void) {
  unsigned *p = zeroed(1);
  MemsetNode fill = {.dst = p, .element_size = 4, .height = 1, .pitch = 4, .value = 7, .width = 1};
  Handle s = stream(), graph, node, exec;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
  CHECK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  CHECK(hipGraphLaunch(exec, s));
  say_whether_it_ran(p, s);
}

static void captured_copy_of_no_bytes(void) {
  unsigned *p = zeroed(1), word = 0;
  Handle s = stream();
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  say_code(hipMemcpyHtoDAsync(p, &word, 0, s));
}

static Handle event(void) {
  Handle made;
  CHECK(hipEventCreateWithFlags(&made, 2 /* hipEventDisableTiming */));
  return made;
}

static void captured_wait_for_work_outside(void) {
  Handle s = stream(), other = stream(), e = event();
  CHECK(hipEventRecord(e, other));
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  say_code(hipStreamWaitEvent(s, e, 0));
}

static void end_of_a_broken_capture(void) {
  Handle s = stream(), graph;
  int status;
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  if (hipStreamSynchronize(s) == 0) say("not-broken");
  hipStreamEndCapture(s, &graph);
  CHECK(hipStreamIsCapturing(s, &status));
  say(status ? "leaves-the-stream-captured" : "ends");
}

static void second_end_of_an_unjoined_capture(void) {
  Handle s = stream(), side = stream(), fork = event(), join = event(), graph;
  unsigned *p = zeroed(1);
  CHECK(hipStreamBeginCapture(s, GLOBAL));
  CHECK(hipEventRecord(fork, s));
  CHECK(hipStreamWaitEvent(side, fork, 0));
  launch_bump(p, side);
  if (hipStreamEndCapture(s, &graph) == 0) say("none-needed");
  CHECK(hipEventRecord(join, side));
  CHECK(hipStreamWaitEvent(s, join, 0));
  say_code(hipStreamEndCapture(s, &graph));
}

/* ---- graphs ---- */

static void memset_node(void) {
  unsigned words[4];
  unsigned *p = zeroed(4);
  Handle graph, node, exec, s = stream();
  MemsetNode fill = {.dst = p, .element_size = 4, .height = 1, .pitch = 12, .value = 0xaabbccdd, .width = 3};
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
  CHECK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
  CHECK(hipGraphLaunch(exec, s));
  CHECK(hipStreamSynchronize(s));
  CHECK(hipMemcpyDtoH(words, p, sizeof words));
  int filled = words[0] == fill.value && words[1] == fill.value && words[2] == fill.value && words[3] == 0;
  say(filled ? "fills" : "wrong");
}

enum { LAUNCHERS = 2, LAUNCHES = 40000, GRAPH_LAUNCHES = 10000, NODES = 4 };

static void *launch_many(void *unused) {
  (void)unused;
  unsigned count, *p = zeroed(1);
  Handle s = stream();
  for (int i = 0; i < LAUNCHES; i++) {
    launch_bump(p, s);
    if (i % 64 == 63) CHECK(hipStreamSynchronize(s));
  }
  CHECK(hipStreamSynchronize(s));
  CHECK(hipMemcpyDtoH(&count, p, 4));
  return (void *)(uintptr_t)(count == LAUNCHES);
}

/* A graph that adds 1 to *p NODES times. */
static Handle graph_of_bumps(unsigned *p) {
  Handle graph, exec, node = NULL;
  CHECK(hipGraphCreate(&graph, 0));
  for (int i = 0; i < NODES; i++) {
    int n = 1;
    void *arguments[] = {&p, &n};
    KernelNode kernel = {.block = {1, 1, 1}, .function = bump, .grid = {1, 1, 1}, .arguments = arguments};
    Handle before = node;
    CHECK(hipGraphAddKernelNode(&node, graph, &before, i != 0, &kernel));
  }
  CHECK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
  return exec;
}

static void launches_beside_graphs(void) {
  pthread_t threads[LAUNCHERS];
  unsigned count, *p = zeroed(1);
  Handle exec = NULL, s = stream();
  for (int i = 0; i < LAUNCHERS; i++) pthread_create(&threads[i], NULL, launch_many, NULL);
  for (int i = 0; i < GRAPH_LAUNCHES; i++) {
    if (i % 64 == 0) exec = graph_of_bumps(p);
    CHECK(hipGraphLaunch(exec, s));
    if (i % 16 == 15) CHECK(hipStreamSynchronize(s));
  }
  CHECK(hipStreamSynchronize(s));
  int right = 1;
  for (int i = 0; i < LAUNCHERS; i++) {
    void *one;
    pthread_join(threads[i], &one);
    right &= one != NULL;
  }
  CHECK(hipMemcpyDtoH(&count, p, 4));
  say(right && count == GRAPH_LAUNCHES * NODES ? "right" : "wrong");
}

/* ---- host functions ---- */

static sem_t blocked, let_go;

static void block(void *unused) {
  (void)unused;
  sem_post(&blocked);
  sem_wait(&let_go);
}

/* A stream on which a host function is inside `block`. */
static Handle stream_that_blocks(void) {
  Handle s = stream();
  if (!hipLaunchHostFunc) say("no-host-functions");
  CHECK(hipLaunchHostFunc(s, block, NULL));
  sem_wait(&blocked);
  return s;
}

static void *synchronize_device(void *unused) {
  (void)unused;
  CHECK(hipDeviceSynchronize());
  return NULL;
}

static void query_beside_device_synchronize(void) {
  pthread_t thread;
  unsigned *p = zeroed(1);
  Handle s = stream_that_blocks();
  launch_bump(p, s);
  pthread_create(&thread, NULL, synchronize_device, NULL);
  usleep(300000); /* The thread is inside HIP by then. */
  say(hipStreamQuery(s) == 600 ? "not-ready" : "wrong");
}

static void destroy_beside_a_blocked_host_function(void) {
  Handle event, other = stream();
  unsigned *p = zeroed(1);
  Handle first = stream_that_blocks();
  launch_bump(p, other);
  CHECK(hipEventCreateWithFlags(&event, 0));
  CHECK(hipEventRecord(event, other));
  CHECK(hipStreamWaitEvent(first, event, 0));
  CHECK(hipStreamSynchronize(other));
  CHECK(hipStreamDestroy(other));
  say("returns");
}

static void *synchronize_device_again_and_again(void *unused) {
  (void)unused;
  for (;;) CHECK(hipDeviceSynchronize());
  return NULL;
}

static void first_allocation_beside_device_synchronize(void) {
  pthread_t thread;
  void *memory;
  Handle s = stream();
  pthread_create(&thread, NULL, synchronize_device_again_and_again, NULL);
  usleep(10000);
  CHECK(hipMallocAsync(&memory, 4096, s));
  say("right");
}

/* ---- default streams ---- */

static void launch_on_a_threads_stream(void) {
  unsigned count, *p = zeroed(1);
  Handle of_this_thread = (Handle)2; /* hipStreamPerThread */
  launch_bump(p, of_this_thread);
  CHECK(hipStreamSynchronize(of_this_thread));
  CHECK(hipMemcpyDtoH(&count, p, 4));
  say(count == 1 ? "right" : "wrong");
}

static void query_beside_the_null_stream(void) {
  Handle idle;
  unsigned *p = zeroed(1);
  CHECK(hipStreamCreateWithFlags(&idle, 0));
  launch_bump(p, idle);
  CHECK(hipStreamSynchronize(idle));
  if (!hipLaunchHostFunc) say("no-host-functions");
  CHECK(hipLaunchHostFunc(NULL, block, NULL));
  sem_wait(&blocked);
  int code = hipStreamQuery(idle);
  say(code == 0 ? "idle" : code == 600 ? "not-ready" : "wrong");
}

static void run(void *ran) { sem_post(ran); }

static void host_function_beside_a_blocked_one(void) {
  sem_t ran;
  sem_init(&ran, 0, 0);
  Handle other = stream();
  stream_that_blocks();
  CHECK(hipLaunchHostFunc(other, run, &ran));
  sem_wait(&ran);
  say("runs");
}

static const struct {
  const char *name;
  void (*run)(void);
  int times; /* A race is run more than once; the first result other than "right" counts. */
} QUIRKS[] = {
    {"empty-function-name", empty_function_name, 1},
    {"unknown-function-name", unknown_function_name, 1},
    {"ipc-open-flags", ipc_open_flags, 1},
    {"subnormal-quotient", subnormal_quotient, 1},
    {"memset-node", memset_node, 1},
    {"captured-launch", captured_launch, 1},
    {"captured-cooperative-launch", captured_cooperative_launch, 1},
    {"captured-graph-launch", captured_graph_launch, 1},
    {"captured-copy-of-no-bytes", captured_copy_of_no_bytes, 1},
    {"captured-wait-for-work-outside", captured_wait_for_work_outside, 1},
    {"end-of-a-broken-capture", end_of_a_broken_capture, 1},
    {"second-end-of-an-unjoined-capture", second_end_of_an_unjoined_capture, 1},
    {"launches-beside-graphs", launches_beside_graphs, 5},
    {"launch-on-a-threads-stream", launch_on_a_threads_stream, 1},
    {"query-beside-the-null-stream", query_beside_the_null_stream, 1},
    {"host-function-beside-a-blocked-one", host_function_beside_a_blocked_one, 1},
    {"query-beside-device-synchronize", query_beside_device_synchronize, 1},
    {"destroy-beside-a-blocked-host-function", destroy_beside_a_blocked_host_function, 1},
    {"first-allocation-beside-device-synchronize", first_allocation_beside_device_synchronize, 5},
};

/* ---- one process for each ---- */

static Handle load_module(const char *folder, const char *name) {
  char path[4096];
  Handle made;
  snprintf(path, sizeof path, "%s/%s.gfx90a.co", folder, name);
  CHECK(hipModuleLoad(&made, path));
  return made;
}

static void load(const char *library, const char *kernels) {
  void *hip = dlopen(library, RTLD_NOW);
  if (!hip) fprintf(stderr, "%s\n", dlerror()), _exit(2);
#define FIND(name) *(void **)&name = dlsym(hip, #name)
  FIND(hipInit), FIND(hipRuntimeGetVersion), FIND(hipMalloc), FIND(hipMallocAsync), FIND(hipMemset);
  FIND(hipMemcpyDtoH), FIND(hipMemcpyHtoD), FIND(hipIpcGetMemHandle), FIND(hipIpcOpenMemHandle);
  FIND(hipStreamCreateWithFlags), FIND(hipStreamDestroy), FIND(hipStreamSynchronize), FIND(hipLaunchHostFunc);
  FIND(hipStreamQuery), FIND(hipStreamWaitEvent), FIND(hipEventCreateWithFlags), FIND(hipEventRecord);
  FIND(hipDeviceSynchronize);
  FIND(hipModuleLoad), FIND(hipModuleGetFunction), FIND(hipModuleLaunchKernel);
  FIND(hipGraphCreate), FIND(hipGraphAddKernelNode), FIND(hipGraphAddMemsetNode), FIND(hipGraphInstantiate);
  FIND(hipGraphLaunch), FIND(hipStreamBeginCapture), FIND(hipStreamEndCapture), FIND(hipStreamIsCapturing);
  FIND(hipModuleLaunchCooperativeKernel), FIND(hipMemcpyHtoDAsync);
  sem_init(&blocked, 0, 0), sem_init(&let_go, 0, 0);
  CHECK(hipInit(0));
  module = load_module(kernels, "probe");
  CHECK(hipModuleGetFunction(&bump, module, "bump"));
  CHECK(hipModuleGetFunction(&quotient, load_module(kernels, "tensor"), "div_f32_tt"));
}

/* Runs a quirk in a process of its own, and keeps the line that it prints, without its end. */
static void run_apart(void (*quirk)(void), const char *library, const char *kernels, char result[256]) {
  size_t length = 0;
  int out[2];
  if (pipe(out)) exit(2);
  pid_t child = fork();
  if (child == 0) {
    dup2(out[1], 1), close(out[0]), close(out[1]);
    load(library, kernels);
    quirk();
  }
  close(out[1]);
  struct pollfd readable = {.fd = out[0], .events = POLLIN};
  int ready;
  while ((ready = poll(&readable, 1, 10000)) > 0 && length < 255) {
    ssize_t got = read(out[0], result + length, 255 - length);
    if (got <= 0) break;
    length += (size_t)got;
    if (memchr(result, '\n', length)) break;
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  close(out[0]);
  result[length] = 0;
  result[strcspn(result, "\n")] = 0;
  if (length == 0) strcpy(result, ready == 0 ? "hangs" : "crashes");
}

int main(int count, char **arguments) {
  if (count < 3) return fprintf(stderr, "usage: quirks LIBRARY KERNELS [QUIRK]\n"), 2;
  for (size_t i = 0; i < sizeof QUIRKS / sizeof *QUIRKS; i++) {
    char result[256] = "right";
    if (count > 3 && strcmp(arguments[3], QUIRKS[i].name)) continue;
    for (int time = 0; time < QUIRKS[i].times && !strcmp(result, "right"); time++)
      run_apart(QUIRKS[i].run, arguments[1], arguments[2], result);
    printf("%s %s\n", QUIRKS[i].name, result);
    fflush(stdout);
  }
  return 0;
}
