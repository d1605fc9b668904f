# What the steps share that need something beside the checkout: the corpus of kernels, and AMD's own libraries.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
corpus=../shared/corpus

# A copy of the corpus with objects for gfx950 and RDNA, of which it has none.
corpus_with_more_targets() { # whether it can be made
  installed clang-22 lld-22 llvm-15 rocm-device-libs libamdhip64-dev || return
  if [[ ! -d $CI_WORK/corpus ]]; then
    cp -r "$corpus" "$CI_WORK/corpus"
    step "$ci/beside/corpus-for" "$CI_WORK/corpus" gfx950 || exit 1
    step "$ci/beside/corpus-for" "$CI_WORK/corpus" gfx1100.w32 -O3 || exit 1
    step "$ci/beside/corpus-for" "$CI_WORK/corpus" gfx1100.w64 -O3 || exit 1
    step "$ci/beside/corpus-for" "$CI_WORK/corpus" gfx1030.w32 -O3 || exit 1
    step "$ci/beside/corpus-for" "$CI_WORK/corpus" gfx1201.w32 -O3 || exit 1
  fi
  corpus=$CI_WORK/corpus
}

# AMD's own libamdhip64 5.2.3, 6.4.3 and 7.2.4 on a machine with no GPU. Programs are built here and run there.
amd_hip=$(realpath -m ../shared/real-hip)
hip7=${HIP7:-${XDG_CACHE_HOME:-$HOME/.cache}/real-hip-7}
versions=()
find_versions() {
  if [[ ! -d $amd_hip || $(id -u) != 0 ]]; then
    left_out "AMD's libamdhip64: no $amd_hip, or not run as root"
    return
  fi
  step bash "$amd_hip/run.sh"
  versions+=(5.2.3)
  local stamp
  stamp=$(cat "$amd_hip"/*.cpp "$amd_hip"/*.h "$amd_hip"/hip7/* | sha256sum)
  if [[ $(cat "$hip7/stamp" 2>/dev/null) == "$stamp" ]] ||
    { installed clang-15 curl xz-utils patch && step bash "$amd_hip/hip7/install.sh" "$hip7" && echo "$stamp" >"$hip7/stamp"; }; then
    versions+=(6.4.3 7.2.4)
  else
    left_out "AMD's libamdhip64 6.4.3 and 7.2.4: they could not be installed in $hip7"
  fi
}
on_hip() { # on_hip VERSION COMMAND...: what hangs fails after ten minutes
  case $1 in
    5.2.3) timeout 600 bash "$amd_hip/run.sh" "${@:2}" ;;
    6.4.3) HIP7_SEE="$CI_WORK:${HIP7_SEE:-}" timeout 600 "$hip7/run.sh" --hip 6 "${@:2}" ;;
    7.2.4) HIP7_SEE="$CI_WORK:${HIP7_SEE:-}" timeout 600 "$hip7/run.sh" "${@:2}" ;;
  esac
}
