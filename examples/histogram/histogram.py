import numpy

from hiplaunch import In, InOut, Launcher

Range = numpy.dtype([("low", "f4"), ("high", "f4"), ("bins", "u4")])

with Launcher() as launcher:  # a GPU where there is one, else the emulator
    histogram = launcher.register("histogram.co")
    x = numpy.arange(4000, dtype="f4") % 10
    counts = numpy.zeros(10, dtype="u4")
    ticket = histogram[4, 256](In(x), x.size, numpy.array((0, 10, 10), Range), InOut(counts))
    ticket.result()  # waits for this launch alone, and writes to counts
    print(counts.tolist())
