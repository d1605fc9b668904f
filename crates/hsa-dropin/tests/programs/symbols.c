// symbols LIBRARY LIST: looks for each function of a list in a library. A line of the list is a symbol version, or `-`, and a name.
// Prints those that are not there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
  void *library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  FILE *list = library ? fopen(arguments[2], "r") : NULL;
  if (!list) return puts("no library or list"), 1;
  char version[64], name[128];
  int all = 0;
  while (fscanf(list, "%63s %127s", version, name) == 2) {
    ++all;
    if (!(strcmp(version, "-") ? dlvsym(library, name, version) : dlsym(library, name))) printf("no %s %s\n", version, name);
  }
  printf("%d looked for\n", all);
}
