// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that are cut along K, or along the keys: their sums go from one worker to the next through workspaces of the
// launch (bench/notes/level-tiles.md, attention-cut-tiles.md).

#ifndef SPARSEC_CUT_OPS_TD
#define SPARSEC_CUT_OPS_TD

include "SparsecTileOps.td"

def Sparsec_WriteSumsOp : Sparsec_Op<"write_sums", []> {
  let summary = "Writes the sums of this group to memory, for the next worker.";
  let description = [{
    Every warp of the groups of a worker has a place in a workspace of the launch (`tile_sums`). A lane writes vectors
    of 16 bytes, side by side with those of the other lanes. In attention the last vector has m and l of the lane's two
    rows, l being the sum of the lane's own keys. A worker writes its sums at most once in a launch.
    Constraint: `write_sums_c1`.

    ```mlir
    sparsec.write_sums %output, %rows : <64, 128>, !sparsec.softmax_state<64>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator, Optional<Sparsec_SoftmaxStateType>:$rows);
  let assemblyFormat = "$accumulator (`,` $rows^)? attr-dict `:` type($accumulator) (`,` type($rows)^)?";
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

def Sparsec_ReadSumsOp : Sparsec_Op<"read_sums", [Sparsec_NamesResults]> {
  let summary = "The output and the rows that the worker before wrote.";
  let description = [{
    A group of attention goes on from there, as if it had done the steps of the first part itself.
    Constraint: `read_sums_c1`.

    ```mlir
    %output, %rows = sparsec.read_sums : <64, 128>, <64>
    ```
  }];
  let results = (outs Sparsec_AccumulatorType:$output, Sparsec_SoftmaxStateType:$rows);
  let assemblyFormat = "attr-dict `:` type($output) `,` type($rows)";
  let hasVerifier = 1;
}

#endif // SPARSEC_CUT_OPS_TD
