# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of every kind with one bit flipped, or cut off: each is refused, whichever byte it is."""
import spmm
from harness import describe

# Name, options of the compiler, whether it can be loaded here.
KINDS = [("sm_90a", ["--arch=sm_90a"], False), ("sm_89", ["--arch=sm_89"], False), ("host", ["--arch=host"], True),
         ("ptx", ["--arch=sm_89", "--embed-ptx"], False), ("bundle", ["--arch=sm_90a,sm_89,host"], True)]
CHANGES = 60


def check_images(case):
    name, options, is_loadable = KINDS[case.number % len(KINDS)]
    kernel = spmm.random_kernel(case.rng, "kernel", tame=True)
    (case.folder / "kernel.mlir").write_text(kernel.text())
    outcome = case.run("sparsec", "kernel.mlir", *options, "-o", "image")
    if not case.expect(outcome.code == 0, f"expects the compiler to take the kernel: {describe(outcome)}"):
        return
    image = (case.folder / "image").read_bytes()
    outcome = read(case, is_loadable)
    if not case.expect("no kernel" in outcome.errors if is_loadable else outcome.code == 0,
                       f"expects a good image to be read: {describe(outcome)}"):
        return
    for _ in range(CHANGES):
        place = case.rng.randrange(len(image))
        if case.rng.random() < 0.9:
            changed = bytearray(image)
            bit = case.rng.randrange(8)
            changed[place] ^= 1 << bit
            what = f"bit {bit} of byte {place} of {len(image)} flipped"
        else:
            changed, what = image[:place], f"cut off after {place} of {len(image)} bytes"
        (case.folder / "image").write_bytes(changed)
        outcome = read(case, is_loadable)
        case.count("changes")
        is_refused = outcome.code == 1 and "no kernel" not in outcome.errors
        if not case.expect(is_refused, f"{name}: expects an image with {what} to be refused, but got "
                           + describe(outcome)):
            return
        case.count("refused")


def read(case, is_loadable):
    """Loads it where it can be loaded, which is seen from the next message; else reads its launch info."""
    case.commands = case.commands[:1]  # a script repeats the last reading
    if is_loadable:
        return case.run("sparsec-run", "image", "--device=host", "--kernel=other", "--repeat=0")
    return case.run("sparsec-run", "image", "--inspect")
