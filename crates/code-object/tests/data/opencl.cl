// What HIP doesn't produce: local pointers, images, names and types of arguments, a required workgroup size.
__attribute__((reqd_work_group_size(8, 4, 2)))
kernel void blend(global const float *restrict in, global float *out, local float *tile, constant float *weights,
                  read_only image2d_t picture, sampler_t how, float4 colour, volatile global int *flag) {
    int i = __builtin_amdgcn_workitem_id_x();
    tile[i] = in[i] * weights[i];
    out[i] = tile[i] + colour.x;
    *flag = 1;
}

__attribute__((work_group_size_hint(64, 1, 1))) kernel void hinted(global int *out) { *out = 1; }
