// Looks for GPUs below HIP, as programs around AMD's runtime do: in Linux's files, by HSA's runtime, and by the libraries of system
// management. Prints what it finds. It needs no header of AMD's.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES "/sys/class/kfd/kfd/topology/nodes"

static void *open_library(const char *name) {
  void *library = dlopen(name, RTLD_NOW);
  if (!library) {
    printf("%s\n", dlerror());
    exit(1);
  }
  return library;
}

static void *find(void *library, const char *name) {
  void *function = dlsym(library, name);
  if (!function) {
    printf("no %s\n", name);
    exit(1);
  }
  return function;
}
#define FIND(library, result, name, ...) result (*name)(__VA_ARGS__) = find(library, #name)

static long property(const char *node, const char *name) {
  char path[300], key[64];
  snprintf(path, sizeof path, NODES "/%s/properties", node);
  FILE *file = fopen(path, "r");
  unsigned long long value;
  long found = -1;
  while (file && fscanf(file, "%63s %llu", key, &value) == 2)
    if (!strcmp(key, name)) found = value;
  if (file) fclose(file);
  return found;
}

static void files(void) {
  struct dirent **nodes;
  int count = scandir(NODES, &nodes, NULL, alphasort);
  for (int i = 0; i < count; ++i) {
    const char *node = nodes[i]->d_name;
    if (node[0] == '.') continue;
    printf("node %s: target %ld, vendor %ld, waves of %ld, renders by %ld\n", node, property(node, "gfx_target_version"),
           property(node, "vendor_id"), property(node, "wave_front_size"), property(node, "drm_render_minor"));
  }
  struct stat by_path, by_folder;
  struct statx more;
  char link[64] = "";
  int folder = open(NODES "/1", O_RDONLY | O_DIRECTORY);
  printf("ways: stat %d, lstat %d, access %d, fstatat %d, statx %d, openat %d, opendir %d, realpath %d, readlink %ld %s\n",
         stat("/sys/devices/virtual/kfd/kfd/topology/generation_id", &by_path), lstat("/sys/class/kfd", &by_path),
         access("/sys/module/amdgpu/initstate", R_OK), fstatat(folder, "gpu_id", &by_folder, 0),
         statx(AT_FDCWD, NODES, 0, STATX_TYPE, &more), openat(folder, "mem_banks/0/properties", O_RDONLY) > 0 ? 0 : -1,
         opendir("/sys/class/kfd/kfd") ? 0 : -1, realpath(NODES, NULL) ? 0 : -1,
         (long)readlink("/sys/class/kfd/kfd", link, sizeof link - 1), link);
  int device = open("/dev/kfd", O_RDWR);
  printf("the device: %s\n", device < 0 ? strerror(errno) : "opened");
  // Names that only begin like those.
  printf("beside: %d %d\n", access("/sys/class/kfdx", F_OK), access("/sys/module/amdgpux", F_OK));
}

typedef struct { uint64_t handle; } handle_t;
static void *hsa;

static uint32_t pool(handle_t pool, void *count) {
  FIND(hsa, uint32_t, hsa_amd_memory_pool_get_info, handle_t, uint32_t, void *);
  size_t size = 0;
  uint32_t segment = 9, flags = 9;
  hsa_amd_memory_pool_get_info(pool, 0, &segment);
  hsa_amd_memory_pool_get_info(pool, 1, &flags);
  hsa_amd_memory_pool_get_info(pool, 2, &size);
  // The host's memory differs from host to host.
  printf("  pool: segment %u, flags %u, %s\n", segment, flags, size ? "of some size" : "empty");
  ++*(int *)count;
  return 0;
}

static uint32_t isa(handle_t isa, void *unused) {
  FIND(hsa, uint32_t, hsa_isa_get_info_alt, handle_t, uint32_t, void *);
  uint32_t length = 0;
  hsa_isa_get_info_alt(isa, 0, &length);
  char *name = malloc(length);
  hsa_isa_get_info_alt(isa, 1, name);
  printf("  isa: %s\n", name);
  free(name);
  return 0;
}

static uint32_t cache(handle_t cache, void *unused) {
  FIND(hsa, uint32_t, hsa_cache_get_info, handle_t, uint32_t, void *);
  const char *name = "";
  uint32_t size = 0;
  hsa_cache_get_info(cache, 1, &name);
  hsa_cache_get_info(cache, 3, &size);
  printf("  cache: %s %u\n", name, size);
  return 0;
}

static uint32_t agent(handle_t agent, void *stop) {
  FIND(hsa, uint32_t, hsa_agent_get_info, handle_t, uint32_t, void *);
  FIND(hsa, uint32_t, hsa_agent_iterate_isas, handle_t, uint32_t (*)(handle_t, void *), void *);
  FIND(hsa, uint32_t, hsa_agent_iterate_caches, handle_t, uint32_t (*)(handle_t, void *), void *);
  FIND(hsa, uint32_t, hsa_amd_agent_iterate_memory_pools, handle_t, uint32_t (*)(handle_t, void *), void *);
  char name[64], product[64], uuid[21];
  uint32_t device = 9, node = 9, units = 0, chip = 0, bus = 0;
  hsa_agent_get_info(agent, 17, &device);
  hsa_agent_get_info(agent, 16, &node);
  hsa_agent_get_info(agent, 0, name);
  hsa_agent_get_info(agent, 0xA000, &chip);
  hsa_agent_get_info(agent, 0xA002, &units);
  hsa_agent_get_info(agent, 0xA006, &bus);
  hsa_agent_get_info(agent, 0xA009, product);
  hsa_agent_get_info(agent, 0xA011, uuid);
  if (device == 1)
    printf("agent of node %u: %s, %s, %s, %u units, chip %x, at %x\n", node, name, product, uuid, units, chip, bus);
  else
    printf("agent of node %u: the host, %s\n", node, uuid);
  printf("  no attribute: %x\n", hsa_agent_get_info(agent, 0xBADD, &units));
  int pools = 0;
  hsa_agent_iterate_isas(agent, isa, NULL);
  hsa_agent_iterate_caches(agent, cache, NULL);
  hsa_amd_agent_iterate_memory_pools(agent, pool, &pools);
  return *(uint32_t *)stop;
}

static void by_hsa(void) {
  hsa = open_library("libhsa-runtime64.so.1");
  FIND(hsa, uint32_t, hsa_init, void);
  FIND(hsa, uint32_t, hsa_shut_down, void);
  FIND(hsa, uint32_t, hsa_iterate_agents, uint32_t (*)(handle_t, void *), void *);
  FIND(hsa, uint32_t, hsa_status_string, uint32_t, const char **);
  FIND(hsa, uint32_t, hsa_amd_ipc_signal_create, handle_t, void *);
  FIND(hsa, uint32_t, hsa_system_get_major_extension_table, uint16_t, uint16_t, size_t, void *);
  FIND(hsa, int64_t, hsa_signal_load_relaxed, handle_t);
  uint32_t go_on = 0, stop = 1;
  void *table = NULL;
  const char *text = "";
  printf("version: %s\n", dlvsym(hsa, "hsa_init", "ROCR_1") == (void *)hsa_init ? "ROCR_1" : "none");
  printf("before: %x\n", hsa_iterate_agents(agent, &go_on));
  printf("init: %x\n", hsa_init());
  printf("agents: %x\n", hsa_iterate_agents(agent, &go_on));
  printf("stopped: %x\n", hsa_iterate_agents(agent, &stop));
  printf("no callback: %x\n", hsa_iterate_agents(NULL, NULL));
  uint32_t refused = hsa_amd_ipc_signal_create((handle_t){0}, NULL);
  hsa_status_string(refused, &text);
  printf("of other processes: %s\n", text);
  printf("table: %x, signal: %ld\n", hsa_system_get_major_extension_table(0x201, 1, 8, &table),
         (long)hsa_signal_load_relaxed((handle_t){0}));
  printf("shut down: %x\n", hsa_shut_down());
  printf("again: %x\n", hsa_shut_down());
}

static void by_rocm_smi(void *hip) {
  void *smi = open_library("librocm_smi64.so.7");
  FIND(smi, uint32_t, rsmi_init, uint64_t);
  FIND(smi, uint32_t, rsmi_shut_down, void);
  FIND(smi, uint32_t, rsmi_num_monitor_devices, uint32_t *);
  FIND(smi, uint32_t, rsmi_dev_name_get, uint32_t, char *, size_t);
  FIND(smi, uint32_t, rsmi_dev_pci_id_get, uint32_t, uint64_t *);
  FIND(smi, uint32_t, rsmi_dev_memory_total_get, uint32_t, uint32_t, uint64_t *);
  FIND(smi, uint32_t, rsmi_dev_memory_usage_get, uint32_t, uint32_t, uint64_t *);
  FIND(smi, uint32_t, rsmi_dev_temp_metric_get, uint32_t, uint32_t, uint32_t, int64_t *);
  FIND(smi, uint32_t, rsmi_topo_get_link_type, uint32_t, uint32_t, uint64_t *, uint32_t *);
  FIND(smi, uint32_t, rsmi_status_string, uint32_t, const char **);
  FIND(hip, int, hipMalloc, void **, size_t);
  FIND(hip, int, hipSetDevice, int);
  uint32_t count = 0, kind = 0;
  uint64_t place = 0, total = 0, before = 1, after = 0, hops = 0;
  int64_t temperature;
  char name[64];
  const char *text = "";
  void *memory;
  printf("before: %u\n", rsmi_num_monitor_devices(&count));
  rsmi_init(0);
  rsmi_num_monitor_devices(&count);
  rsmi_dev_name_get(1, name, sizeof name);
  rsmi_dev_pci_id_get(1, &place);
  rsmi_dev_memory_total_get(1, 0, &total);
  rsmi_dev_memory_usage_get(1, 0, &before);
  hipSetDevice(1);
  hipMalloc(&memory, 3 << 20);
  rsmi_dev_memory_usage_get(1, 0, &after);
  rsmi_topo_get_link_type(0, 1, &hops, &kind);
  printf("rocm smi: %u devices, %s at %lx, %lu MiB, %ld bytes used\n", count, name, (long)place, (long)(total >> 20),
         (long)(after - before));
  printf("link: %lu hops of kind %u; no device: %u\n", (long)hops, kind, rsmi_dev_pci_id_get(count, &place));
  rsmi_status_string(rsmi_dev_temp_metric_get(0, 0, 0, &temperature), &text);
  printf("temperature: %s\n", text);
  printf("shut down: %u\n", rsmi_shut_down());
}

static void by_amd_smi(void) {
  void *smi = open_library("libamd_smi.so");
  FIND(smi, uint32_t, amdsmi_init, uint64_t);
  FIND(smi, uint32_t, amdsmi_shut_down, void);
  FIND(smi, uint32_t, amdsmi_get_socket_handles, uint32_t *, void **);
  FIND(smi, uint32_t, amdsmi_get_processor_handles, void *, uint32_t *, void **);
  FIND(smi, uint32_t, amdsmi_get_gpu_device_uuid, void *, uint32_t *, char *);
  FIND(smi, uint32_t, amdsmi_get_gpu_id, void *, uint16_t *);
  FIND(smi, uint32_t, amdsmi_get_temp_metric, void *, uint32_t, uint32_t, int64_t *);
  uint32_t sockets = 0;
  int64_t temperature;
  printf("before: %u\n", amdsmi_get_socket_handles(&sockets, NULL));
  amdsmi_init(2);
  amdsmi_get_socket_handles(&sockets, NULL);
  void *all[sockets];
  amdsmi_get_socket_handles(&sockets, all);
  for (uint32_t i = 0; i < sockets; ++i) {
    uint32_t count = 1, room = 38;
    uint16_t id = 0;
    char uuid[38] = "";
    void *processor = NULL;
    amdsmi_get_processor_handles(all[i], &count, &processor);
    amdsmi_get_gpu_device_uuid(processor, &room, uuid);
    amdsmi_get_gpu_id(processor, &id);
    printf("amd smi: %u processor of socket %u, %s, %x, temperature: %u\n", count, i, uuid, id,
           amdsmi_get_temp_metric(processor, 0, 0, &temperature));
  }
  printf("no processor: %u\n", amdsmi_get_gpu_id((void *)7, NULL));
  printf("shut down: %u\n", amdsmi_shut_down());
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  files();
  by_hsa();
  by_rocm_smi(open_library("libamdhip64.so"));
  by_amd_smi();
}
