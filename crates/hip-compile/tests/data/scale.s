; The same function in assembly.
	.text
	.globl	scale
	.p2align	2
	.type	scale,@function
scale:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_add_f32_e32 v0, v0, v0
	s_setpc_b64 s[30:31]
.Lend:
	.size	scale, .Lend-scale
