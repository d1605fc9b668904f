"""JAX on the device that its plugin for ROCm finds, beside numpy in double: matrix products, and a step of training."""

import jax
import jax.numpy as jnp
import numpy as np

from comparison import compare, finish

jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(1)


def products():
    """Shapes whose inner dimension is odd or 1, by XLA's own kernels and by hipBLASLt and rocBLAS."""
    for dtype, epsilon in [("float16", 2**-10), ("bfloat16", 2**-7), ("float32", 2**-22), ("float64", 2**-51)]:
        for m, k, n in [(1, 1, 1), (5, 3, 2), (16, 17, 16), (33, 31, 65), (64, 127, 48), (130, 129, 70)]:
            # Multiples of 1/8 from -2 to 2, which every type holds.
            a, b = (random.integers(-16, 17, shape) / 8 for shape in [(m, k), (k, n)])
            product = jax.jit(lambda a, b: jnp.matmul(a, b, precision="highest"))
            result = product(jnp.asarray(a, dtype), jnp.asarray(b, dtype))
            compare(f"{dtype} {m} x {k} x {n}", result, a @ b, epsilon * 2)


def step():
    """Three steps of gradient descent of a network with one hidden layer; the reference has its derivatives by hand."""
    x, y = random.standard_normal((31, 7)), random.standard_normal((31, 3))
    w1, w2 = random.standard_normal((7, 13)) / 3, random.standard_normal((13, 3)) / 4

    def loss(weights, x, y):
        return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)

    @jax.jit
    def descend(weights, x, y):
        value, slopes = jax.value_and_grad(loss)(weights, x, y)
        return value, [w - 0.1 * slope for w, slope in zip(weights, slopes)]

    for dtype, epsilon in [("float32", 1e-5), ("float64", 1e-13)]:
        weights = [jnp.asarray(w, dtype) for w in (w1, w2)]
        u, v = w1, w2
        for number in range(3):
            value, weights = descend(weights, jnp.asarray(x, dtype), jnp.asarray(y, dtype))
            hidden = np.tanh(x @ u)
            rest = hidden @ v - y
            slope = 2 * rest / rest.size
            u, v = u - 0.1 * x.T @ (slope @ v.T * (1 - hidden**2)), v - 0.1 * hidden.T @ slope
            compare(f"loss of step {number}, {dtype}", value, np.mean(rest**2), epsilon)
            for name, got, expected in zip(["first", "second"], weights, [u, v]):
                compare(f"{name} weights after step {number}, {dtype}", got, expected, epsilon)


device = jax.devices()[0]
assert device.platform == "gpu", f"JAX uses {device}, not the plugin's device"
print(f"{device.device_kind}, jax {jax.__version__}")
products()
step()
finish("jax")
