#!/usr/bin/env bash
# install.sh DIR: a Debian sid in DIR/root with AMD's libraries of ROCm 7.2, llama.cpp with its backend for HIP, CuPy and JAX; as root.
# Nothing is compiled but a small library. DIR/run.sh COMMAND... runs a command there. README.md says what it is for.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath -m "${1:?usage: install.sh DIR}")
root=$folder/root
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

if [[ ! -e $root/etc/debian_version ]]; then
  mkdir -p "$folder"
  rm -rf "$root.new"
  debootstrap --variant=minbase --include=ca-certificates sid "$root.new" "$mirror" >"$folder/debootstrap.log" ||
    { tail -n 5 "$folder/debootstrap.log"; exit 1; }
  mv "$root.new" "$root"
  echo "deb $mirror experimental main" >>"$root/etc/apt/sources.list"
  # A mirror may be behind.
  printf '%s\n' 'APT::Install-Recommends "false";' 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99local"
  # Of rocBLAS's and hipBLASLt's kernels, those of one target: of 4 GB, the others are 3.
  printf '%s\n' 'path-exclude=/usr/lib/x86_64-linux-gnu/*/library/*gfx*' \
    'path-include=/usr/lib/x86_64-linux-gnu/*/library/*gfx90a*' 'path-exclude=/usr/share/doc/*' >"$root/etc/dpkg/dpkg.cfg.d/one-target"
fi

cat >"$folder/run.sh" <<'R'
#!/usr/bin/env bash
# run.sh COMMAND...: runs it in the root beside, in a mount namespace of its own. SEE has the folders that are seen there, read only, separated
# by colons.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/root
if [[ -z ${IN_NAMESPACE:-} ]]; then IN_NAMESPACE=1 exec unshare -m "$0" "$@"; fi
unset IN_NAMESPACE
mount --make-rprivate /
IFS=: read -ra see <<<"${SEE:-}"
for path in "${see[@]}"; do
  [[ -d $path ]] || continue
  mkdir -p "$root$path"
  mount --bind "$path" "$root$path"
  mount -o remount,bind,ro "$root$path"
done
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /sys "$root/sys"
exec chroot "$root" env -C / TMPDIR=/tmp HOME=/root "$@"
R
chmod +x "$folder/run.sh"
# The host's names and certificates: it may be behind a proxy.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
export SEE=$here:/etc/ssl/certs

packages() { # packages NAME...: newest first, so that those of ROCm 7.2 are of one version
  "$folder/run.sh" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y -t experimental "$@" >>"$folder/apt.log" 2>&1 ||
    { tail -n 5 "$folder/apt.log"; exit 1; }
  "$folder/run.sh" apt-get clean
}
"$folder/run.sh" apt-get update -qq
packages librocblas5 librocblas-dev hipcc librocprim-dev libhipcub-dev
packages llama.cpp-tests libggml0-backend-hip
packages libhipblas3 libhipblaslt1 libhipfft0 libhiprand1 libhipsolver1 libhipsparse4 libmiopen1 librccl1 librocsolver0 librocthrust-dev
packages python3-venv

# What is not in Debian, and is not needed: absent.c.
"$folder/run.sh" sh -ec "
  cd /usr/local/lib
  clang-22 -w -shared -fPIC -Wl,--version-script=$here/absent.map -o libabsent.so $here/absent.c
  for name in rocprofiler-sdk.so.1 roctracer64.so.4 rocm_sysdeps_drm.so.2 rocm_sysdeps_drm_amdgpu.so.1 rocm_sysdeps_numa.so.1; do
    ln -sf libabsent.so lib\$name
  done
  ldconfig"

python() { # python NAME PACKAGE...: an environment of its own in /opt
  "$folder/run.sh" sh -ec 'name=$1; shift; [ -e /opt/$name ] || python3 -m venv /opt/$name
    /opt/$name/bin/pip install --quiet --no-cache-dir --disable-pip-version-check "$@"' _ "$@"
}
python cupy cupy-rocm-7-0==14.2.0
python jax jax==0.12.0.1 jaxlib==0.12.0.1 jax-rocm7-plugin==0.12.0 jax-rocm7-pjrt==0.12.0
