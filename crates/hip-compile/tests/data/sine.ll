; The same function by the device libraries.
target triple = "amdgcn-amd-amdhsa"

declare float @__ocml_sin_f32(float)

define float @scale(float %v) {
  %w = call float @__ocml_sin_f32(float %v)
  ret float %w
}
