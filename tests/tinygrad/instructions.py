"""A plug-in of pytest: tinygrad's tests of single instructions of RDNA3 (`test/amd/hw`) on the emulator of hiplaunch.

    python -m pytest -p instructions test/amd/hw

Those tests run instructions on tinygrad's own emulator or on a GPU, and look at the registers. Here the program that they make for a GPU
is put in a code object by clang, and runs on an emulated device of HIPLAUNCH_EMULATOR_TARGET (default: gfx1100). CLANG is the compiler
(default: clang).
"""

import os
import re
import subprocess

import numpy

import hiplaunch
from test.amd.hw import helpers, test_dpp

TARGET = os.environ.get("HIPLAUNCH_EMULATOR_TARGET", "gfx1100")

# What `run_program_hw` of their helpers has, with the argument that their metadata leaves out.
SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
.globl test
.p2align 8
.type test,@function
test:
.byte {code}
.rodata
.p2align 6
.amdhsa_kernel test
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 96
  .amdhsa_wavefront_size32 {wave32}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_group_segment_fixed_size 65536
  .amdhsa_private_segment_fixed_size 65536
  .amdhsa_enable_private_segment 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: test
    .symbol: test.kd
    .args:
      - {{.address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}}
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 65536
    .private_segment_fixed_size: 65536
    .kernarg_segment_align: 8
    .wavefront_size: {wave}
    .sgpr_count: 96
    .vgpr_count: 256
    .max_flat_workgroup_size: 1024
...
.end_amdgpu_metadata
"""


def code_object(code, wave):
    """Returns a code object whose kernel `test` is some machine code, for waves of so many lanes."""
    text = SOURCE.format(target=TARGET, wave=wave, wave32=int(wave == 32), code=", ".join(str(byte) for byte in code))
    command = [os.environ.get("CLANG", "clang"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={TARGET}", "-x", "assembler", "-", "-o", "-"]
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def run(code, lanes, size, wave=32):
    """Runs machine code in a workgroup of so many work-items, and returns the memory of `size` bytes to which its argument points."""
    with hiplaunch.Launcher("emulator", target=TARGET) as launcher:
        kernel = launcher.register(code_object(code, wave), "test")
        out = launcher.buffer(numpy.zeros(size, numpy.uint8))
        kernel.launch(1, lanes, out).result()
        return out.tobytes()


def run_program(instructions, n_lanes=1, ulp_tolerance=0):
    """Runs instructions in the place of the function of that name in their helpers."""
    prologue, epilogue = helpers.get_prologue_epilogue(n_lanes)
    code = helpers.assemble(prologue + instructions + epilogue)
    return helpers.parse_output(run(code, n_lanes, helpers._out_bytes(n_lanes)), n_lanes)


helpers.run_program = run_program
helpers.run_program_emu = run_program


def run_wave64(instructions, out_reg=1):
    """Runs instructions in a wave of 64 lanes in the place of `test_dpp`'s function."""
    memory = run(test_dpp._wave64_code(instructions, out_reg), 64, 256, 64)
    return numpy.frombuffer(memory, numpy.uint32).tolist()


test_dpp._run_wave64_emu = run_wave64
