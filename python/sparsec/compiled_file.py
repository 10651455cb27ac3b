# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled file: what it says about its images, and its kernels on devices."""

from __future__ import annotations

import threading

from . import _native, devices, launch_info


class CompiledFile:
    """A compiled file. It is loaded on a device when one of its kernels is first needed there.

    Attributes:
        data: its bytes.
        images: what it says about each of its images.
    """

    def __init__(self, data: bytes) -> None:
        """Reads and checks the file. Raises InvalidImage if it is damaged or of another kind or version."""
        self.images = launch_info.read(data)
        self.data = data
        self._lock = threading.Lock()
        self._loaded: dict[int, _native.Image] = {}

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the images: "sm_90a", "host", ..."""
        return tuple(image.target for image in self.images)

    @property
    def report(self) -> str:
        """A table of all images, kernels and variants: schedules, registers, spills, shared memory."""
        return "\n".join(image.report for image in self.images)

    def native_kernel(self, name: str, ordinal: int) -> tuple[_native.Kernel, str]:
        """The kernel on a device, and the target of its image. Loads the file there at first."""
        with self._lock:
            if ordinal not in self._loaded:
                self._loaded[ordinal] = _native.Image(devices.device(ordinal), self.data)
            image = self._loaded[ordinal]
        return image.kernel(name), image.target

    def info_of(self, target: str, name: str) -> launch_info.KernelInfo:
        """What the image of a target says about a kernel."""
        image = next(image for image in self.images if image.target == target)
        return next(kernel for kernel in image.kernels if kernel.name == name)
