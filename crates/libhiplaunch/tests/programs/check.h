/* Shared by the C and C++ test programs: checks that print where they failed, and reading a code object. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hiplaunch.h"

#define CHECK(condition)                                                                                        \
  do {                                                                                                          \
    if (!(condition)) {                                                                                         \
      fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #condition,                   \
              hiplaunch_last_error_message());                                                                  \
      exit(1);                                                                                                  \
    }                                                                                                           \
  } while (0)

#define OK(call) CHECK((call) == HIPLAUNCH_STATUS_OK)

/* Checks that the call fails with that status, and that its message contains the words. */
#define FAILS(call, status, words)                                                                              \
  do {                                                                                                          \
    CHECK((call) == (status));                                                                                  \
    CHECK(hiplaunch_last_error() == (status));                                                                  \
    CHECK(strstr(hiplaunch_last_error_message(), words) != NULL);                                               \
  } while (0)

/* Reads a file of hip/, the folder that is the program's first argument. */
static inline void *code_object(const char *folder, const char *name, const char *processor, size_t *size) {
  char path[1024];
  FILE *file;
  long end;
  void *bytes;
  snprintf(path, sizeof path, "%s/%s.%s.co", folder, name, processor);
  file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  end = ftell(file);
  CHECK(end > 0 && fseek(file, 0, SEEK_SET) == 0);
  bytes = malloc((size_t)end);
  CHECK(bytes != NULL);
  CHECK(fread(bytes, 1, (size_t)end, file) == (size_t)end);
  fclose(file);
  *size = (size_t)end;
  return bytes;
}

/* Opens the emulator with the validation layer. */
static inline hiplaunch_launcher *open_emulator(void) {
  hiplaunch_options options;
  hiplaunch_launcher *launcher;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.backend = HIPLAUNCH_BACKEND_EMULATOR;
  options.validate = HIPLAUNCH_SWITCH_ON;
  OK(hiplaunch_open(&options, &launcher));
  return launcher;
}

static inline hiplaunch_kernel *kernel_of(hiplaunch_launcher *launcher, const char *folder, const char *file,
                                          const char *name) {
  size_t size;
  void *bytes = code_object(folder, file, "gfx90a", &size);
  hiplaunch_kernel *kernel;
  OK(hiplaunch_register(launcher, 0, bytes, size, name, NULL, &kernel));
  free(bytes);
  return kernel;
}

/* Checks that the validation layer found nothing. */
static inline void check_clean(hiplaunch_launcher *launcher) {
  hiplaunch_text *text;
  const char *data;
  size_t length;
  OK(hiplaunch_take_violations(launcher, &text));
  OK(hiplaunch_text_data(text, &data, &length));
  if (length > 0) {
    fprintf(stderr, "violations:\n%s\n", data);
    exit(1);
  }
  OK(hiplaunch_text_close(text));
}

#endif
