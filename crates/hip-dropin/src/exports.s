# The functions that programs find, for x86-64. Each jumps to where its record says, whatever its arguments are.
#
# A record is an `Export` of exports.rs. It begins with a target that asks `hiplaunch_resolve` for the real one, so the
# first call of a function decides where all its calls go.

.macro export name
    .section .text.hiplaunch_exports, "ax", @progbits
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    jmp qword ptr [rip + .Lexport_\name]
    .size \name, . - \name

# Counts the call first.
.Lcounted_\name:
    lock inc qword ptr [rip + .Lexport_\name + 16]
    jmp qword ptr [rip + .Lexport_\name + 8]

# r11 is no argument, and no caller expects it to be kept.
.Lresolve_\name:
    lea r11, [rip + .Lexport_\name]
    jmp hiplaunch_resolve

    .section .rodata.hiplaunch_exports, "a", @progbits
.Lname_\name:
    .asciz "\name"

    .section .data.rel.hiplaunch_exports, "aw", @progbits
.Lexport_\name:
    .quad .Lresolve_\name
    .quad 0
    .quad 0
    .quad .Lcounted_\name
    .quad emulated_\name
    .quad .Lname_\name
    .quad 0
    .quad 0
.endm

# Asks exports.rs where a call goes, with the call's arguments as they were, and jumps there. Arguments are in rdi, rsi,
# rdx, rcx, r8, r9 and xmm0 to xmm7; rax has the number of the latter for functions with variable arguments, r10 the
# static chain; the rest is on the stack above this frame (System V ABI for AMD64, 3.2.3).
    .section .text.hiplaunch_exports, "ax", @progbits
    .type hiplaunch_resolve, @function
hiplaunch_resolve:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, 192
    and rsp, -16
    mov [rsp], rdi
    mov [rsp + 8], rsi
    mov [rsp + 16], rdx
    mov [rsp + 24], rcx
    mov [rsp + 32], r8
    mov [rsp + 40], r9
    mov [rsp + 48], rax
    mov [rsp + 56], r10
    movaps [rsp + 64], xmm0
    movaps [rsp + 80], xmm1
    movaps [rsp + 96], xmm2
    movaps [rsp + 112], xmm3
    movaps [rsp + 128], xmm4
    movaps [rsp + 144], xmm5
    movaps [rsp + 160], xmm6
    movaps [rsp + 176], xmm7
    mov rdi, r11
    call {resolve}
    mov r11, rax
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    mov rdx, [rsp + 16]
    mov rcx, [rsp + 24]
    mov r8, [rsp + 32]
    mov r9, [rsp + 40]
    mov rax, [rsp + 48]
    mov r10, [rsp + 56]
    movaps xmm0, [rsp + 64]
    movaps xmm1, [rsp + 80]
    movaps xmm2, [rsp + 96]
    movaps xmm3, [rsp + 112]
    movaps xmm4, [rsp + 128]
    movaps xmm5, [rsp + 144]
    movaps xmm6, [rsp + 160]
    movaps xmm7, [rsp + 176]
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    jmp r11
    .cfi_endproc
    .size hiplaunch_resolve, . - hiplaunch_resolve

    .section .data.rel.hiplaunch_exports, "aw", @progbits
    .p2align 6
    .globl hiplaunch_exports
    .hidden hiplaunch_exports
hiplaunch_exports:
