// Prints which symbols of a list, each `name@@version`, a library lacks: `symbols LIBRARY LIST`.
#include <dlfcn.h>
#include <cstdio>
#include <fstream>
#include <string>

int main(int, char **arguments) {
  void *library = dlopen(arguments[1], RTLD_NOW);
  std::ifstream list(arguments[2]);
  std::string line;
  int count = 0;
  while (std::getline(list, line)) {
    auto at = line.find("@@");
    if (at == std::string::npos) continue;
    ++count;
    if (!library || !dlvsym(library, line.substr(0, at).c_str(), line.c_str() + at + 2)) printf("%s\n", line.c_str());
  }
  printf("%d looked for\n", count);
}
