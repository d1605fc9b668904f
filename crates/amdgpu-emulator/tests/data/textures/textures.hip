// HIP's texture and surface functions: each lane has four coordinates, and stores what it reads.
#include <hip/hip_runtime.h>

#define TEXTURE(name, call)                                                                                   \
    extern "C" __global__ void name(hipTextureObject_t t, const float4* in, float4* out) {                    \
        const float4 c = in[threadIdx.x];                                                                     \
        out[threadIdx.x] = call;                                                                              \
    }

TEXTURE(fetch, tex1Dfetch<float4>(t, int(c.x)))
TEXTURE(one, tex1D<float4>(t, c.x))
TEXTURE(two, tex2D<float4>(t, c.x, c.y))
TEXTURE(three, tex3D<float4>(t, c.x, c.y, c.z))
TEXTURE(one_layered, tex1DLayered<float4>(t, c.x, int(c.z)))
TEXTURE(two_layered, tex2DLayered<float4>(t, c.x, c.y, int(c.z)))
TEXTURE(cube, texCubemap<float4>(t, c.x, c.y, c.z))
TEXTURE(cube_layered, texCubemapLayered<float4>(t, c.x, c.y, c.z, int(c.w)))

// gfx90a has neither levels nor gradients nor gathers.
#ifndef __gfx90a__
TEXTURE(two_gather, tex2Dgather<float4>(t, c.x, c.y, 2))
TEXTURE(two_level, tex2DLod<float4>(t, c.x, c.y, c.w))
TEXTURE(three_level, tex3DLod<float4>(t, c.x, c.y, c.z, c.w))
TEXTURE(cube_level, texCubemapLod<float4>(t, c.x, c.y, c.z, c.w))
TEXTURE(two_gradient, tex2DGrad<float4>(t, c.x, c.y, make_float2(c.z, 0), make_float2(0, c.w)))
TEXTURE(layered_gradient, tex2DLayeredGrad<float4>(t, c.x, c.y, 1, make_float2(c.z, 0), make_float2(0, c.w)))
#endif

// Copies row 0 to row 1, of depth 0 to depth 1, and so on.
extern "C" __global__ void surface_two(hipSurfaceObject_t s) {
    float4 value;
    surf2Dread(&value, s, 16 * threadIdx.x, 0);
    surf2Dwrite(value, s, 16 * threadIdx.x, 1);
}

extern "C" __global__ void surface_three(hipSurfaceObject_t s) {
    float4 value;
    surf3Dread(&value, s, 16 * threadIdx.x, 1, 0);
    surf3Dwrite(value, s, 16 * threadIdx.x, 0, 1);
}
