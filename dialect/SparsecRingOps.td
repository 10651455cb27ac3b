// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings of shared-memory slots, and how a slot changes hands: a producer acquires it and posts what it copies there;
// consumers wait for it and release it.

#ifndef SPARSEC_RING_OPS_TD
#define SPARSEC_RING_OPS_TD

include "SparsecTileOps.td"

def Sparsec_RingOp : Sparsec_Op<"ring", [Sparsec_NamesResults]> {
  let summary = "Shared memory for the ring: every stage holds all buffers.";
  let description = [{
    `offsets` (bytes, one per buffer, of stage 0; stages follow one another per buffer), and `barrier_offset` are
    set by `sparsec-assign-shared-memory`. A ring between roles has barriers. A ring of a role of warps has none:
    its threads wait for their copies and then for each other. With `messages` every slot also has two i32 that
    producers write and consumers read. All threads of a consumer read them, so that each of its warps releases a
    slot. `name` is the name of the ring in dumps.

    Positions of a ring are the uses of its slots in their order: position p is slot p mod `stages`. Cursors are
    positions. Usually all consumers come to all positions. With `skips` they may leave some out, as long as somebody
    releases these in their place. Full barriers are then twice as many as slots. A consumer may wait for position p if
    position p - 2 `stages` is full: this holds if the consumer has come to position p - `stages` or to a later one.
    `releases` is the number of groups that release a slot, if it is not that of all groups of the roles that do.
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$name, UnitAttr:$messages, UnitAttr:$skips,
    OptionalAttr<I64Attr>:$releases, OptionalAttr<DenseI64ArrayAttr>:$offsets, OptionalAttr<I64Attr>:$barrier_offset);
  let results = (outs Sparsec_RingType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
  // A ring to whose positions all groups come.
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringAttr":$name, "bool":$messages), [{
    build($_builder, $_state, type, name, messages, /*skips=*/false, /*releases=*/::mlir::IntegerAttr(),
          /*offsets=*/::mlir::DenseI64ArrayAttr(), /*barrier_offset=*/::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    /// The positions after which a full barrier comes again.
    int64_t getFullBarriers() { return getType().getStages() * (getSkips() ? 2 : 1); }
  }];
}

def Sparsec_CursorOp : Sparsec_Op<"cursor", [Pure, Sparsec_NamesResults]> {
  let summary = "The cursor at which every role begins, or that of a position.";
  let description = [{
    Positions count from 0, which is the one at which roles begin.

    ```mlir
    %begin = sparsec.cursor %ring
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    %c = sparsec.cursor %ring at(%position)
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Optional<I32>:$position);
  let results = (outs Sparsec_CursorType:$result);
  let assemblyFormat = "$ring (`at` `(` $position^ `)`)? attr-dict `:` type($ring)";
  // The first one.
  let builders = [OpBuilder<(ins "::mlir::Value":$ring), [{ build($_builder, $_state, ring, ::mlir::Value()); }]>];
}

def Sparsec_NextOp : Sparsec_Op<"next", [Pure, Sparsec_NamesResults]> {
  let summary = "The cursor of a slot after this one.";
  let description = [{
    The next slot, or with `step` the one so many slots further: groups that share the slots of a ring take turns with
    them. The number of stages is a multiple of `step`.

    ```mlir
    %next = sparsec.next %ring[%c]
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```

    ```mlir
    %next = sparsec.next %blocks[%c] {step = 3 : i64} : <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$step);
  let results = (outs Sparsec_CursorType:$result);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Sparsec_AcquireOp : Sparsec_Op<"acquire", []> {
  let summary = "Producer: waits until all consumers have released the slot of the cursor.";
  let description = [{
    ```mlir
    sparsec.acquire %ring[%c]
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring)";
}

def Sparsec_PostOp : Sparsec_Op<"post", [AttrSizedOperandSegments]> {
  let summary = "Producer: announces the bytes of all buffers of a slot.";
  let description = [{
    The slot is full when the copies have brought as many bytes as its buffers have. With `empty` there are no copies,
    and the slot is full at once. With `bytes` it announces so many: the copies fill only a part of the buffers. Two
    messages (i32) may go with the slot: those that wait for it can read them.

    ```mlir
    sparsec.post %ring[%c] (%tile_row, %panel) : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, Variadic<I32>:$messages,
    Optional<I32>:$bytes, UnitAttr:$empty);
  let assemblyFormat = [{
    $ring `[` $cursor `]` (`(` $messages^ `)`)? (`bytes` `(` $bytes^ `)`)? attr-dict `:` type($ring)
  }];
  // All bytes of the buffers.
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$cursor, "::mlir::ValueRange":$messages,
                                 "bool":$empty),
                            [{ build($_builder, $_state, ring, cursor, messages, ::mlir::Value(), empty); }]>];
  let hasVerifier = 1;
}

def Sparsec_WaitOp : Sparsec_Op<"wait", [Sparsec_NamesResults]> {
  let summary = "Consumer: waits until the slot of the cursor is full.";
  let description = [{
    The results are the two messages of the slot, or none. Waits with nothing between them are one: their barriers are
    tested together.

    ```mlir
    %tile_row, %panel = sparsec.wait %ring[%c] : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]> -> i32, i32
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor);
  let results = (outs Variadic<I32>:$results);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring) (`->` type($results)^)?";
  let hasVerifier = 1;
}

def Sparsec_TestOp : Sparsec_Op<"test", [Sparsec_NamesResults]> {
  let summary = "Consumer: whether the slot of the cursor is full, without waiting.";
  let description = [{
    If it is, a wait for the slot can be left out.

    ```mlir
    %is_full = sparsec.test %ring[%next]
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor);
  let results = (outs I1:$is_full);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring)";
}

def Sparsec_ReleaseOp : Sparsec_Op<"release", [AttrSizedOperandSegments]> {
  let summary = "Consumer: the slot of the cursor may be filled again, if the condition holds.";
  let description = [{
    The products that read the slot are complete. A producer releases a slot `for` as many groups as do not come to it
    (i32, maybe 0).

    ```mlir
    sparsec.release %ring[%previous] if %has_previous
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, Optional<I1>:$condition,
    Optional<I32>:$groups);
  let assemblyFormat = [{
    $ring `[` $cursor `]` (`for` `(` $groups^ `)`)? (`if` $condition^)? attr-dict `:` type($ring)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$cursor,
                                 CArg<"::mlir::Value", "{}">:$condition),
                            [{ build($_builder, $_state, ring, cursor, condition, /*groups=*/::mlir::Value()); }]>];
  let hasVerifier = 1;
}

#endif // SPARSEC_RING_OPS_TD
