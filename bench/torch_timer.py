# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times calls that submit work to a CUDA stream of torch."""
import statistics
import time

CYCLES_A_SECOND = 2.0e9  # at most, of the clock of an SM


class Timer:
    """Median times of calls with a cold L2, taken in turns."""

    def __init__(self, torch, repeats):
        self.torch, self.repeats = torch, repeats
        self.other_data = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")

    def flush(self):
        """Fills L2 with other data. They are read: written lines would go to memory during the call that is timed."""
        self.torch.amax(self.other_data)

    def milliseconds(self, *runs):
        """The median of each call, after two rounds that are not counted."""
        times = [[] for _ in runs]
        for _ in range(self.repeats + 2):
            for run, taken in zip(runs, times):
                taken.append(self.once(run))
        return [statistics.median(taken[2:]) for taken in times]

    def back_to_back(self, run, count):
        """Milliseconds of each of `count` calls. The host submits all of them while the GPU waits, so that the GPU does
        them one after the other, as it does launches of sparsec-bench, and the host's part of a call does not count."""
        begin = time.perf_counter()
        run()
        host_seconds = time.perf_counter() - begin
        self.torch.cuda.synchronize()
        self.torch.cuda._sleep(int(CYCLES_A_SECOND * (1e-3 + 2 * count * host_seconds)))
        events = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for start, end in events:
            self.flush()
            start.record()
            run()
            end.record()
        self.torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]

    def once(self, run):
        self.flush()
        self.torch.cuda._sleep(500_000)  # the host has submitted everything before the GPU starts
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)
