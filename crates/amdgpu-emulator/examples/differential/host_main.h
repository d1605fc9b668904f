// The last part of a program on the host: `main INPUT OUTPUT PARAM` runs all workgroups, one after the other.
#ifndef __AMDGCN__
static struct Lane lanes[BLOCK];
int main(int count, char **args) {
  if (count != 4) return 2;
  FILE *f = fopen(args[1], "rb");
  if (!f || fread(in, sizeof in, 1, f) != 1) return 3;
  fclose(f);
  for (u32 group = 0; group < GROUPS; group++) run_group(group, lanes, in, out, own, shared, (u32)strtoul(args[3], 0, 10));
  f = fopen(args[2], "wb");
  if (!f || fwrite(out, sizeof out, 1, f) != 1 || fwrite(own, sizeof own, 1, f) != 1 || fwrite(shared, sizeof shared, 1, f) != 1 || fclose(f)) return 4;
  return 0;
}
#endif
