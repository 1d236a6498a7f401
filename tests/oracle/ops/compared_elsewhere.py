"""What compare_ops.py cannot ask TensorFlow of a single case, and what shows it instead."""

# What TensorFlow cannot be asked, by what it says then.
CANNOT_SAY = {
    "not supported in eager": "lives in graphs only",
    "eager execution": "lives in graphs only",
    "graph mode": "lives in graphs only",
    "Attr value has unhandled type": "lives in graphs only",
    "Could not find device for node": "TensorFlow has no CPU kernel for the dtype",
    "No OpKernel was registered": "TensorFlow has no CPU kernel for the dtype",
    "NHWC tensor format": "TensorFlow's CPU kernel takes NHWC only",
    "tensor_format is NHWC": "TensorFlow's CPU kernel takes NHWC only",
    "is not available in GraphDef version": "TensorFlow has removed the op",
    "is not in the list of allowed values": "TensorFlow's signature lacks the dtype",
}
# Ops whose results no single-op case can show -> what shows them instead.
FLOW = "control flow of references, which needs a graph around it: tests/session/control_flow_test.cc"
VARIABLE = "names a variable and has no result of its own: the cases of Assign, ReadVariableOp and all updates go through it"
FED = "a place to feed"
CALLS = "calls functions of its graph: tests/oracle/graphs/control_flow.py"
LISTS = "lists go from op to op: tests/oracle/graphs/control_flow.py, argosy/ops/list/list_test.cc"
ARRAYS = "arrays and stacks go from op to op: tests/oracle/graphs/control_flow.py, argosy/ops/tensor_array/tensor_array_test.cc"
STATE = "lives from step to step: tests/oracle/state_programs"
QUEUES = [kind + "Queue" for kind in ("FIFO", "RandomShuffle", "PaddingFIFO", "Priority")] + [
    "Queue" + op for op in ("Enqueue", "EnqueueMany", "Dequeue", "DequeueMany", "DequeueUpTo", "Close", "IsClosed", "Size")]
ACCUMULATORS = ["ConditionalAccumulator"] + ["Accumulator" + op for op in ("ApplyGradient", "TakeGradient",
                                                                           "NumAccumulated", "SetGlobalStep")]
READERS = ["TextLineReader", "WholeFileReader", "FixedLengthRecordReader", "TFRecordReader", "IdentityReader"] + [
    "Reader" + op for op in ("Read", "ReadUpTo", "NumRecordsProduced", "NumWorkUnitsCompleted", "SerializeState",
                             "RestoreState", "Reset")]
TABLES = ["HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable", "InitializeTable",
          "InitializeTableFromTextFile"] + ["LookupTable" + op for op in ("Find", "Insert", "Import", "Export", "Size", "Remove")]
FILES = ["SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "SaveSlices", "Restore", "RestoreSlice", "ReadFile", "WriteFile",
         "MatchingFiles"]
ELSEWHERE = {
    **{op + version: STATE for op in READERS + TABLES for version in ("", "V2")},
    **{"Anonymous" + op: STATE for op in TABLES[:4]},
    **dict.fromkeys(FILES, STATE),
    **dict.fromkeys(("GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor", "DeleteSessionTensor"), STATE),
    **{op + version: STATE for op in QUEUES for version in ("", "V2")},
    **{kind + op: STATE for op in ACCUMULATORS for kind in ("", "Resource")},
    **dict.fromkeys(("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"),
                    STATE),
    **dict.fromkeys(("RaggedTensorToVariant", "RaggedTensorFromVariant", "RaggedTensorToVariantGradient"),
                    "variants go from op to op: argosy/ops/ragged/ragged_test.cc"),
    **dict.fromkeys(("MutexV2", "MutexLock", "ConsumeMutexLock"),
                    "locks go from op to op: tests/session/mutex_test.cc"),
    **{op: "writes files: argosy/runtime/summary_writer_test.cc"
       for op in ("SummaryWriter", "CreateSummaryFileWriter", "CloseSummaryWriter", "FlushSummaryWriter", "WriteSummary",
                  "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary", "WriteAudioSummary",
                  "WriteGraphSummary", "WriteRawProtoSummary", "ImportEvent")},
    **dict.fromkeys(("SparseTensorToCSRSparseMatrix", "DenseToCSRSparseMatrix", "CSRSparseMatrixToDense",
                     "CSRSparseMatrixToSparseTensor", "CSRSparseMatrixComponents", "SparseMatrixNNZ", "SparseMatrixMatMul",
                     "SparseMatrixSparseMatMul", "SparseMatrixTranspose"),
                    "matrices go from op to op: tests/oracle/programs/sparse_rows.py"),
    **dict.fromkeys(("SparseMatrixZeros", "SparseMatrixAdd", "SparseMatrixMul", "SparseMatrixSoftmax",
                     "SparseMatrixSoftmaxGrad"), "TensorFlow has no CPU kernel: argosy/ops/csr/csr_test.cc"),
    **dict.fromkeys(("_SparseMatrixMatMulGrad", "_SparseMatrixAtPlaces", "_SparseMatrixAtIndices"),
                    "an op of our own: argosy/ops/csr/csr_test.cc"),
    **dict.fromkeys(("GenerateVocabRemapping", "LoadAndRemapMatrix"), "reads files: tests/oracle/programs/sparse_rows.py"),
    "For": "calls a function of its graph: tests/oracle/programs/control.py",
    "_ForSteps": "an op of our own: tests/session/for_loop_test.cc",
    "RecordInput": "draws in an order of its own: tests/session/file_ops_test.cc",
    **dict.fromkeys(("CompositeTensorVariantFromComponents", "CompositeTensorVariantToComponents"),
                    "variants go from op to op: tests/oracle/programs/sparse_rows.py"),
    "DisableCopyOnRead": VARIABLE,
    "EmptyTensorMap": "maps go from op to op: argosy/ops/map/map_test.cc",
    **{"TensorMap" + op: "maps go from op to op: argosy/ops/map/map_test.cc"
       for op in ("Insert", "Lookup", "Erase", "HasKey", "Size", "StackKeys")},
    **dict.fromkeys(("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap"),
                    "keeps tensors from op to op: argosy/ops/sparse/sparse_test.cc"),
    **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"),
                    "calls Python of the program: tests/oracle/scripts/run_scripts.py"),
    **{kind + op: CALLS for op in ("If", "Case", "While") for kind in ("", "Stateless")},
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), CALLS),
    "EmptyTensorList": LISTS,
    **{"TensorList" + op: LISTS
       for op in ("Reserve", "PushBack", "PopBack", "SetItem", "GetItem", "Stack", "FromTensor", "Length", "Resize",
                  "ElementShape", "Gather", "ScatterV2", "ScatterIntoExistingList", "ConcatV2", "Split")},
    **{f"TensorArray{op}{v}": ARRAYS for v in ("", "V2", "V3")
       for op in ("", "Read", "Write", "Gather", "Scatter", "Concat", "Split", "Size", "Grad", "Close")},
    "TensorArrayGradWithShape": ARRAYS,
    **{"Barrier" + op: STATE for op in ("", "InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize")},
    **{f"Stack{op}{v}": ARRAYS for op in ("", "Push", "Pop", "Close") for v in ("", "V2")},
    **dict.fromkeys(("Stage", "Unstage", "StagePeek", "StageSize", "StageClear"), STATE),
    **{kind + op: STATE for kind in ("Map", "OrderedMap")
       for op in ("Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear")},
    **dict.fromkeys(("_RefToHandle", "_HandleToRef"), "an op of our own: tests/session/functional_test.cc"),
    "GatherTree": "tf.contrib's, in wheels of 1.x: argosy/ops/gather/gather_test.cc",
    "Timestamp": "another value every time",
    **dict.fromkeys(("RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration"), FLOW),
    **dict.fromkeys(("VarHandleOp", "Variable", "VariableV2", "TemporaryVariable", "DestroyTemporaryVariable"), VARIABLE),
    **dict.fromkeys(("Placeholder", "PlaceholderV2", "_Arg"), FED),
    "_Missing": "an op of our own: argosy/tf/server/tests/server_test.cc",
    **dict.fromkeys(("_ReduceScatter", "_AllGather", "_AllToAll", "_AllGatherVariables", "_ResourceAllGatherVariables"),
                    "an op of our own: tests/session/shard_collectives_test.cc"),
    "_AllReduce": "an op of our own: argosy/train/tests/data_parallel_training_test.cc",
    **dict.fromkeys(["NcclAllReduce", "CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
                     *(f"CollectiveBcast{end}{v}" for end in ("Send", "Recv") for v in ("", "V2"))],
                    "meets the others of its group: tests/oracle/programs/strategies.py"),
    "RemoteCall": "calls functions of its graph: tests/oracle/programs/strategies.py",
    "ComputeBatchSize": "whole pipelines of them: tests/oracle/programs/strategies.py",
    "_FusedElementwise": "an op of our own: argosy/passes/fuse/fuse_elementwise_test.cc",
    **dict.fromkeys(("_ApplyMany", "_ResourceApplyMany"), "an op of our own: argosy/passes/fuse/fuse_updates_test.cc"),
}
PIPELINES = ("Dataset", "Iterator", "Optional", "MemoryCache", "SeedGenerator")  # tried by tests/oracle/graphs/datasets.py
