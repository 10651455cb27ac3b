// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that are cut along K: their sums go from one worker to the next through workspaces of the launch
// (bench/notes/level-tiles.md).

#ifndef SPARSEC_CUT_OPS_TD
#define SPARSEC_CUT_OPS_TD

include "SparsecTileOps.td"

def Sparsec_WriteSumsOp : Sparsec_Op<"write_sums", []> {
  let summary = "Writes the sums of this group to memory, for the next worker.";
  let description = [{
    Every warp of the groups of a CTA has a place in a workspace of the launch (`tile_sums`). A lane writes vectors of
    16 bytes, side by side with those of the other lanes. A worker writes its sums at most once in a launch.
    Constraint: `write_sums_c1`.

    ```mlir
    sparsec.write_sums %sum : <64, 256>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator);
  let assemblyFormat = "$accumulator attr-dict `:` type($accumulator)";
  let hasVerifier = 1;
}

def Sparsec_ReleaseSumsOp : Sparsec_Op<"release_sums", []> {
  let summary = "Tells the next worker that the sums of this group are written.";
  let description = [{
    Every warp has a flag in a workspace of the launch (`sum_flags`). When all its lanes have written, the first one
    sets the flag, with release semantics for the GPU. Constraint: `release_sums_c1`.

    ```mlir
    sparsec.release_sums
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sparsec_AcquireSumsOp : Sparsec_Op<"acquire_sums", []> {
  let summary = "Waits until the same group of the worker before has written its sums.";
  let description = [{
    All lanes of a warp read the flag of the same warp of the worker before, with acquire semantics for the GPU, until
    it is set. The first lane then sets it to zero for the next launch. Constraint: `acquire_sums_c1`.

    ```mlir
    sparsec.acquire_sums
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sparsec_AddSumsOp : Sparsec_Op<"add_sums", [AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "Adds the sums that the worker before wrote to those of this group.";
  let description = [{
    Each sum is that of the worker before plus the own one, in f32. Constraint: `add_sums_c1`.

    ```mlir
    %all = sparsec.add_sums %sum : <64, 256>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "$accumulator attr-dict `:` type($accumulator)";
  let hasVerifier = 1;
}

#endif // SPARSEC_CUT_OPS_TD
