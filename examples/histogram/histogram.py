from ctypes import Structure, c_float, c_uint32

from hiplaunch import In, InOut, Launcher


class Range(Structure):
    _fields_ = [("low", c_float), ("high", c_float), ("bins", c_uint32)]


with Launcher() as launcher:
    stream = launcher.stream()
    histogram = launcher.register(open("histogram.co", "rb").read(), "histogram")
    x = (c_float * 4000)(*(i % 10 for i in range(4000)))
    counts = (c_uint32 * 10)()
    args = [In(x), c_uint32(4000), Range(0, 10, 10), InOut(counts)]
    ticket = histogram.launch(stream, grid=(4,), block=(256,), values=args)
    print(ticket.read(0, c_uint32))
