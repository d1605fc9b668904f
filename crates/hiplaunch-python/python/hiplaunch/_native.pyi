# The docstrings are those of the module: help(hiplaunch) shows them.

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Protocol, TypedDict, final

from typing_extensions import Buffer as _SupportsBuffer
from typing_extensions import Self, TypeAlias

__version__: Final[str]

# Arrays of numpy say that they have the buffer protocol from Python 3.12 on.
class _HasArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

_Array: TypeAlias = _SupportsBuffer | _HasArrayInterface

# What a grid, a block and a shape are given as.
_Extents: TypeAlias = int | Sequence[int]
_Path: TypeAlias = str | os.PathLike[str]

# A name, a dtype of numpy or torch, or a class such as numpy.float32.
_ElementType: TypeAlias = Any

class _HasDlpack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

# What the docstring of Kernel lists.
_Argument: TypeAlias = Any

class _Parameter(TypedDict):
    name: str | None
    offset: int
    size: int
    kind: Literal["ptr", "value"]

class _Attributes(TypedDict):
    vgprs: int
    agprs: int
    sgprs: int
    spilled_vgprs: int
    spilled_sgprs: int
    static_lds: int
    private_bytes: int
    uses_dynamic_stack: bool
    max_threads_per_block: int
    required_block: list[int] | None
    wavefront_size: int
    kernarg_bytes: int

class _Properties(TypedDict):
    name: str
    target: str
    pci_bus_id: str | None
    total_memory: int
    compute_units: int
    wavefront_size: int
    max_threads_per_block: int
    max_block: list[int]
    max_grid: list[int]
    max_lds_per_block: int
    clock_khz: int | None
    memory_clock_khz: int | None
    memory_bus_bits: int | None
    l2_bytes: int | None
    registers_per_block: int | None

class _PoolCounters(TypedDict):
    requested: int
    in_use: int
    held_back: int
    cached: int
    reserved: int
    peak_reserved: int
    peak_in_use: int
    peak_requested: int
    largest_free: int
    hits: int
    misses: int
    steals: int
    frees: int
    live_blocks: int
    segments: int

class _Work(TypedDict):
    device: int
    stream: int
    name: str
    kind: str
    begin: float
    duration: float

class _InFlight(TypedDict):
    kernel: str
    stream: int
    sequence: int
    grid: list[int]
    block: list[int]
    lds: int

class _FaultReport(TypedDict):
    device: int
    call: str
    code: int
    detail: str | None
    in_flight: list[_InFlight]

class Error(Exception): ...

class DriverError(Error):
    kernel: str | None
    code: int

class OutOfMemoryError(Error): ...

class LaunchError(Error):
    kernel: str

class CodeObjectError(Error): ...

class CompileError(Error):
    log: str


class DeviceLostError(Error):
    report: _FaultReport

class GraphError(Error):
    node: int | None

class ClosedError(Error): ...
class ForkedError(Error): ...

@final
class In:
    def __new__(cls, array: _Array) -> Self: ...

@final
class InOut:
    def __new__(cls, array: _Array) -> Self: ...

@final
class Out:
    def __new__(cls, array_or_nbytes: _Array | int) -> Self: ...

@final
class _Destination: ...

DESTINATION: Final[_Destination]

@final
class Stream:
    @property
    def device(self) -> int: ...
    @property
    def raw(self) -> int: ...
    @property
    def idle(self) -> bool: ...
    def synchronize(self) -> None: ...
    def wait(self, event: Event) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Event:
    def record(self, stream: Stream) -> None: ...
    @property
    def reached(self) -> bool: ...
    def synchronize(self) -> None: ...
    def elapsed_ms(self, end: Event) -> float: ...
    @property
    def raw(self) -> int: ...

# What Buffer and HostMemory have.
class _Memory:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def address(self) -> int: ...
    def __len__(self) -> int: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def memoryview(self) -> memoryview: ...
    def close(self) -> None: ...

# What a `with` statement closes.
class _Context:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...

@final
class Buffer(_Memory):
    @property
    def device(self) -> int: ...
    def part(self, offset: int, nbytes: int) -> Buffer: ...
    def copy_from(self, array: _Array | Buffer, *, offset: int | None = None, stream: Stream | None = None) -> None: ...
    def copy_to(self, array: _Array, *, offset: int | None = None, stream: Stream | None = None) -> None: ...
    def tobytes(self, *, stream: Stream | None = None) -> bytes: ...
    def fill(self, byte: int, *, stream: Stream | None = None) -> None: ...
    def __array__(self, *_args: Any, **_keywords: Any) -> NoReturn: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def __hip_array_interface__(self) -> dict[str, Any]: ...

@final
class HostMemory(_Memory, _Context):
    @property
    def host_address(self) -> int: ...

@final
class Ticket:
    @property
    def done(self) -> bool: ...
    def result(self) -> list[Any]: ...
    def add_done_callback(self, function: Callable[[], object]) -> None: ...
    def __await__(self) -> Generator[Any, None, list[Any]]: ...

@final
class BoundKernel:
    # A Ticket if an argument is Out or InOut, else None: which one, the caller knows.
    def __call__(self, *args: _Argument) -> Ticket | Any: ...

@final
class Kernel:
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[_Parameter, ...]: ...
    def attributes(self, device: int = 0) -> _Attributes: ...
    def __getitem__(self, key: tuple[_Extents, _Extents] | tuple[_Extents, _Extents, Stream], /) -> BoundKernel: ...
    def launch(
        self,
        grid: _Extents,
        block: _Extents,
        *args: _Argument,
        packed: _Array | None = None,
        stream: Stream | None = None,
        lds: int = 0,
        cooperative: bool = False,
        into: Buffer | None = None,
    ) -> Ticket: ...

@final
class Module:
    @property
    def kernels(self) -> list[str]: ...
    def kernel(self, name: str | None = None, *, signature: str | None = None) -> Kernel: ...

@final
class Device:
    @property
    def ordinal(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def properties(self) -> _Properties: ...
    @property
    def default_stream(self) -> Stream: ...
    def synchronize(self) -> None: ...
    def pool_snapshot(self) -> PoolSnapshot: ...

@final
class Timeline:
    def to_json(self) -> str: ...
    def save(self, path: _Path) -> None: ...
    def work(self) -> list[_Work]: ...
    def _repr_html_(self) -> str: ...

@final
class PoolSnapshot:
    @property
    def counters(self) -> _PoolCounters: ...
    def to_json(self) -> str: ...
    def to_svg(self) -> str: ...
    def _repr_html_(self) -> str: ...

@final
class GraphValue:
    @property
    def nbytes(self) -> int: ...
    @property
    def read_only(self) -> GraphValue: ...
    @property
    def write_only(self) -> GraphValue: ...
    def part(self, offset: int, nbytes: int) -> GraphValue: ...

@final
class Graph:
    def buffer(self, buffer: Buffer) -> GraphValue: ...
    def temporary(self, shape: _Extents, dtype: _ElementType | None = None) -> GraphValue: ...
    def launch(
        self, kernel: Kernel, grid: _Extents, block: _Extents, *args: _Argument, lds: int = 0
    ) -> int: ...
    def copy(self, source: GraphValue, target: GraphValue) -> int: ...
    def fill(self, value: GraphValue, byte: int) -> int: ...
    def fill_words(self, value: GraphValue, word: int) -> int: ...
    def read(self, value: GraphValue, into: _Array | None = None) -> int: ...
    def order(self, before: int, after: int) -> None: ...
    def compile(self, stream: Stream | None = None) -> CompiledGraph: ...
    def __len__(self) -> int: ...

@final
class CompiledGraph:
    def submit(self) -> Ticket: ...
    def set_buffer(self, value: GraphValue, buffer: Buffer) -> None: ...
    def set_scalar(self, node: int, parameter: int, value: Any) -> None: ...
    def __len__(self) -> int: ...
    @property
    def workspace_bytes(self) -> int: ...

@final
class CodeObject:
    @property
    def kernels(self) -> list[str]: ...
    @property
    def target(self) -> str: ...
    @property
    def log(self) -> str: ...
    @property
    def from_cache(self) -> bool: ...
    def lowered_name(self, expression: str) -> str: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

_Source: TypeAlias = str | bytes | os.PathLike[str]
_Kind: TypeAlias = Literal["hip", "llvm-ir", "bitcode", "assembly", "relocatable"]

def compile(
    source: _Source | list[_Source | tuple[_Kind, _Source]],
    options: Sequence[str] = ...,
    *,
    kind: _Kind | None = None,
    target: str | Device | None = None,
    name: str | None = None,
    headers: Mapping[str, str] | None = None,
    name_expressions: Sequence[str] = ...,
    device_libraries: bool = False,
    clang: _Path | None = None,
    cache: bool = True,
) -> CodeObject: ...

@final
class Launcher(_Context):
    def __new__(
        cls,
        backend: Literal["auto", "hip", "emulator", "noop"] = "auto",
        *,
        validate: bool | None = None,
        timeline: bool = False,
        **emulator: str | bool | float | None,
    ) -> Self: ...
    @property
    def backend(self) -> Literal["hip", "emulator", "noop"]: ...
    @property
    def tried(self) -> list[str]: ...
    @property
    def devices(self) -> tuple[Device, ...]: ...
    @property
    def default_stream(self) -> Stream: ...
    @property
    def closed(self) -> bool: ...
    def stream(self, device: int = 0, *, priority: int | None = None) -> Stream: ...
    def stream_from_raw(self, handle: int, device: int = 0) -> Stream: ...
    def event(self, device: int = 0, *, timing: bool = True) -> Event: ...
    @property
    def timeline(self) -> Timeline | None: ...
    def graph(self, device: int = 0, *, streams: int = 1) -> Graph: ...
    def set_graph_break_even(self, nodes: int) -> None: ...
    def load(self, code: CodeObject | _Array | _Path) -> Module: ...
    def register(
        self, code: CodeObject | _Array | _Path | Module, name: str | None = None, *, signature: str | None = None
    ) -> Kernel: ...
    def empty(
        self, shape: _Extents, dtype: _ElementType | None = None, *, stream: Stream | None = None
    ) -> Buffer: ...
    def buffer(self, source: _Array | int, *, stream: Stream | None = None) -> Buffer: ...
    def register_host(
        self, array: _Array | int, nbytes: int | None = None, *, device: int = 0
    ) -> HostMemory: ...
    def from_dlpack(self, array: _HasDlpack, *, device: int = 0) -> Buffer: ...
    def pinned(
        self, shape: _Extents, dtype: _ElementType | None = None, *, device: int = 0
    ) -> HostMemory: ...
    def synchronize(self) -> None: ...
    def violations(self) -> list[str]: ...
    def notices(self) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...

def command_line(args: Sequence[str], libraries: _Path) -> int: ...

# Runs launch scripts in this process; hiplaunch.fleet uses it.
@final
class ScriptRunner:
    def __new__(cls, args: Sequence[str]) -> Self: ...
    @property
    def scripts(self) -> list[str]: ...
    def files(self, script: _Path) -> list[str]: ...
    def run(self, script: _Path) -> str: ...
    def session(self) -> str: ...

# What Triton calls for each launch on a GPU; hiplaunch.triton makes it.
@final
class TritonLauncher:
    def __new__(cls, launch: Callable[..., object]) -> Self: ...
    def prepare(
        self,
        *,
        kernel: Kernel,
        function: object,
        slots: Sequence[tuple[int, int, str] | None],
        nbytes: int,
        block: int,
        lds: int,
        cooperative: bool,
        stream_of: Callable[[int], Stream],
        one_device: bool,
    ) -> None: ...
    def __call__(self, *args: Any) -> None: ...
