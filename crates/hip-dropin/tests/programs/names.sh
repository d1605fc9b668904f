#!/bin/bash
# names.sh HIPLAUNCH: opens AMD's libraries under several names in one process, with libraries that need symbol versions of
# libamdhip64.so.7 and libhiprtc.so.7, in every order of two. Prints what each process printed, and its status.
set -u
hiplaunch=$1
cd "$(mktemp -d)" && trap 'rm -rf "$PWD"' EXIT
library() { # library NAME VERSION SOURCE: what programs are linked against in place of AMD's library
  echo "$2 { global: *; };" >map && echo "$3" >source.c
  cc -shared -fPIC -Wl,-soname,"$1" -Wl,--version-script=map source.c -o "$1"
}
library libamdhip64.so.7 hip_4.2 'int hipGetDeviceCount(int *n) { return 100; }'
library libhiprtc.so.7 hiprtc_9 'int hiprtcVersion(int *a, int *b) { return 100; }'
echo 'int hipGetDeviceCount(int *); int probe() { int n = -1; int r = hipGetDeviceCount(&n); return r * 100 + n; }' >hip.c
echo 'int hipGetDeviceCount(int *); int hiprtcVersion(int *, int *);
int probe() { int n = -1, a = -1, b; int r = hipGetDeviceCount(&n) + hiprtcVersion(&a, &b); return r * 100 + n + 10 * (a > 0); }' >both.c
cc -shared -fPIC hip.c -o libhip_only.so ./libamdhip64.so.7
cc -shared -fPIC both.c -o libboth.so ./libamdhip64.so.7 ./libhiprtc.so.7
echo '#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
  for (int i = 1; i < count; ++i) {
    void *library = dlopen(names[i], RTLD_NOW);
    if (!library) { puts(dlerror()); return 1; }
    int (*probe)() = (int (*)())dlsym(library, "probe");
    if (probe) printf("%s %d ", names[i], probe());
  }
}' >open.c && cc open.c -o open -ldl
echo '#include <stdio.h>
int probe(); int main() { printf("linked %d ", probe()); }' >linked.c && cc linked.c -o linked ./libboth.so -Wl,-rpath-link,.
names=(libamdhip64.so libamdhip64.so.{5,6,7} libhiprtc.so libhiprtc.so.{5,6,7} ./libhip_only.so ./libboth.so)
for first in "${names[@]}"; do
  for second in "${names[@]}"; do
    "$hiplaunch" exec --target gfx942 -- ./open "$first" "$second" 2>&1
    echo "$first $second: $?"
  done
done
"$hiplaunch" exec --target gfx942 -- ./linked 2>&1
echo "linked: $?"
