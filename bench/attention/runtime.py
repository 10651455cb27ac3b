# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime's C interface as far as measure.py needs it, for torch tensors."""
import ctypes
import sys

KIND_DENSE, KIND_PATTERN, INDEX_ARRAYS = 2, 4, 1  # launch_info.h
PLACE_UNKNOWN = -2  # runtime.h
STATIC_PATTERN = 1  # plans.h
DTYPES = {"float32": 1, "float16": 2, "bfloat16": 3, "int32": 6}


# The structures of runtime.h.
class Dense(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_int32), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_int32), ("flags", ctypes.c_uint32), ("data", ctypes.c_void_p),
                ("sizes", ctypes.c_int64 * 5), ("strides", ctypes.c_int64 * 5)]


class BlockLists(ctypes.Structure):
    _fields_ = [("starts", ctypes.c_void_p), ("indices", ctypes.c_void_p)]


class Blocks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_int32), ("dtype", ctypes.c_int),
                ("encoding", ctypes.c_int), ("flags", ctypes.c_uint32), ("block_rows", ctypes.c_int32),
                ("block_columns", ctypes.c_int32), ("batches", ctypes.c_int64), ("heads", ctypes.c_int64),
                ("rows", ctypes.c_int64), ("columns", ctypes.c_int64), ("capacity", ctypes.c_int64),
                ("full", BlockLists), ("partial", BlockLists), ("values", ctypes.c_void_p)]


class Value(ctypes.Union):
    _fields_ = [("view", ctypes.c_void_p), ("scalar", ctypes.c_double)]


class Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("value", Value)]


class PlanOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("arguments", ctypes.c_void_p), ("argument_count", ctypes.c_size_t),
                ("stream", ctypes.c_void_p), ("allocator", ctypes.c_void_p), ("flags", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class LaunchOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("stream", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path.resolve()))
        self.library.sparsec_status_message.restype = ctypes.c_char_p
        self.device = ctypes.c_void_p()
        self.modules = {}
        self.call("sparsec_device_open_cuda", 0, ctypes.byref(self.device))

    def call(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        if status := function(*arguments):
            sys.exit(f"{name}: {self.library.sparsec_status_message(ctypes.c_void_p(status)).decode()}")

    def load(self, path):
        """The only kernel of a file."""
        if path not in self.modules:
            data = path.read_bytes()
            module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
            self.call("sparsec_module_load", self.device, data, ctypes.c_size_t(len(data)), ctypes.byref(module))
            self.call("sparsec_module_kernel", module, None, ctypes.byref(kernel))
            self.modules[path] = kernel
        return self.modules[path]

    def plan(self, kernel, arguments, with_lists):
        """A plan for launches with these views, with their lists or for the sizes alone."""
        plan = ctypes.c_void_p()
        array = argument_array(arguments)
        for argument in array:
            if argument.kind == KIND_PATTERN and not with_lists:
                argument.kind = 0  # open
        options = PlanOptions(ctypes.sizeof(PlanOptions), ctypes.addressof(array), len(array))
        options.flags = STATIC_PATTERN if with_lists else 0
        self.call("sparsec_plan_create", kernel, ctypes.byref(options), ctypes.byref(plan))
        return plan

    def workspace_bytes(self, plan):
        size = ctypes.c_size_t()
        self.call("sparsec_plan_workspace_bytes", plan, None, ctypes.c_size_t(0), ctypes.byref(size))
        return size.value

    def destroy_plan(self, plan):
        self.library.sparsec_plan_destroy.restype = None
        self.library.sparsec_plan_destroy(plan)

    def launcher(self, kernel, plan, arguments, stream, workspace):
        """A function that launches. `workspace` is a tensor of zeros, or None."""
        array = argument_array(arguments)
        options = LaunchOptions(ctypes.sizeof(LaunchOptions), stream)
        if workspace is not None:
            options.workspace, options.workspace_bytes = workspace.data_ptr(), workspace.nbytes

        def launch(kept=(arguments, workspace)):  # what the array and the options point to
            self.call("sparsec_launch_with_options", kernel, plan, array, ctypes.c_size_t(len(array)),
                      ctypes.byref(options))
        return launch


def argument_array(views):
    """The views must outlive the arguments."""
    return (Argument * len(views))(*(argument_of(view) for view in views))


def argument_of(view):
    """The view must outlive the argument."""
    return Argument(KIND_DENSE if isinstance(view, Dense) else KIND_PATTERN, 0, Value(view=ctypes.addressof(view)))


def dense(tensor):
    """A view of a tensor, which must outlive it."""
    rank = tensor.dim()
    sizes, strides = (ctypes.c_int64 * 5)(*tensor.shape), (ctypes.c_int64 * 5)(*tensor.stride())
    dtype = DTYPES[str(tensor.dtype).removeprefix("torch.")]
    return Dense(ctypes.sizeof(Dense), tensor.get_device(), dtype, rank, 0, tensor.data_ptr(), sizes, strides)


class DeviceLists:
    """The lists of patterns.Blocks in device memory, as index arrays."""

    def __init__(self, torch, blocks):
        self.blocks = blocks
        self.capacity = max(sum(map(len, lists)) for lists in (blocks.partial, blocks.full))

        def upload(lists):
            if not any(lists):
                return None
            starts = torch.zeros(len(lists) + 1, dtype=torch.int32)
            starts[1:] = torch.tensor([len(each) for each in lists]).cumsum(0)
            indices = torch.full((self.capacity,), -1, dtype=torch.int32)
            indices[:int(starts[-1])] = torch.tensor([column for each in lists for column in each], dtype=torch.int32)
            return starts.cuda(), indices.cuda()

        self.partial, self.full = upload(blocks.partial), upload(blocks.full)

    def view(self):
        def pointers(lists):
            return BlockLists(lists[0].data_ptr(), lists[1].data_ptr()) if lists else BlockLists()

        blocks = self.blocks
        return Blocks(ctypes.sizeof(Blocks), PLACE_UNKNOWN, 0, INDEX_ARRAYS, 0, blocks.query_block, blocks.key_block, 1,
                      blocks.heads, blocks.rows * blocks.query_block, blocks.columns * blocks.key_block, self.capacity,
                      pointers(self.full), pointers(self.partial))
