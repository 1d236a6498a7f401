"""What compare_ops.py cannot ask TensorFlow of a single case, and what shows it instead."""

# What TensorFlow cannot be asked, by what it says then.
CANNOT_SAY = {
    "not supported in eager": "it works in graphs only",
    "eager execution": "it works in graphs only",
    "graph mode": "it works in graphs only",
    "Attr value has unhandled type": "it works in graphs only",
    "Could not find device for node": "TensorFlow has no CPU kernel for the dtype",
    "No OpKernel was registered": "TensorFlow has no CPU kernel for the dtype",
    "NHWC tensor format": "TensorFlow's CPU kernel takes NHWC only",
    "tensor_format is NHWC": "TensorFlow's CPU kernel takes NHWC only",
    "is not available in GraphDef version": "TensorFlow has removed the op",
    "is not in the list of allowed values": "TensorFlow's signature lacks the dtype",
}
# Ops whose results no single-op case can show -> what shows them instead.
FLOW = "control flow of references needs a graph. Tested in tests/session/control_flow_test.cc"
VARIABLE = "it names a variable and has no result. The cases of Assign, ReadVariableOp and the updates use it"
FED = "it is fed: it computes nothing"
CALLS = "it calls functions of its graph. Tested in tests/oracle/graphs/control_flow.py"
LISTS = "its input is a list that another op made. Tested in tests/oracle/graphs/control_flow.py and argosy/ops/list/list_test.cc"
ARRAYS = "its input is an array or a stack that another op made. Tested in tests/oracle/graphs/control_flow.py and argosy/ops/tensor_array/tensor_array_test.cc"
STATE = "its state outlives a step. Tested in tests/oracle/state_programs"
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
    **dict.fromkeys(("ThreadPoolHandle", "ExperimentalThreadPoolHandle"),
                    "it names what a dataset uses. Tested in tests/session/dataset_ops_test.cc"),
    "InitializeTableFromDataset": "it reads a dataset. Tested in tests/session/dataset_ends_test.cc",
    **{"Anonymous" + op: STATE for op in TABLES[:4]},
    **dict.fromkeys(FILES, STATE),
    **dict.fromkeys(("GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor", "DeleteSessionTensor"), STATE),
    **{op + version: STATE for op in QUEUES for version in ("", "V2")},
    **{kind + op: STATE for op in ACCUMULATORS for kind in ("", "Resource")},
    **dict.fromkeys(("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"),
                    STATE),
    **dict.fromkeys(("RaggedTensorToVariant", "RaggedTensorFromVariant", "RaggedTensorToVariantGradient"),
                    "its input is a variant that another op made. Tested in argosy/ops/ragged/ragged_test.cc"),
    **dict.fromkeys(("MutexV2", "MutexLock", "ConsumeMutexLock"),
                    "its input is a lock that another op took. Tested in tests/session/mutex_test.cc"),
    **{op: "it writes files. Tested in argosy/tf/model/summary_writer_test.cc"
       for op in ("SummaryWriter", "CreateSummaryFileWriter", "CloseSummaryWriter", "FlushSummaryWriter", "WriteSummary",
                  "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary", "WriteAudioSummary",
                  "WriteGraphSummary", "WriteRawProtoSummary", "ImportEvent")},
    **dict.fromkeys(("SparseTensorToCSRSparseMatrix", "DenseToCSRSparseMatrix", "CSRSparseMatrixToDense",
                     "CSRSparseMatrixToSparseTensor", "CSRSparseMatrixComponents", "SparseMatrixNNZ", "SparseMatrixMatMul",
                     "SparseMatrixSparseMatMul", "SparseMatrixTranspose", "SparseMatrixOrderingAMD",
                     "SparseMatrixSparseCholesky"),
                    "its input is a matrix that another op made. Tested in tests/oracle/programs/sparse_rows.py"),
    **dict.fromkeys(("SparseMatrixZeros", "SparseMatrixAdd", "SparseMatrixMul", "SparseMatrixSoftmax",
                     "SparseMatrixSoftmaxGrad"), "TensorFlow has no CPU kernel. Tested in argosy/ops/csr/csr_test.cc"),
    **dict.fromkeys(("_SparseMatrixMatMulGrad", "_SparseMatrixAtPlaces", "_SparseMatrixAtIndices"),
                    "an op of Argosy alone. Tested in argosy/ops/csr/csr_test.cc"),
    **dict.fromkeys(("GenerateVocabRemapping", "LoadAndRemapMatrix"), "it reads files. Tested in tests/oracle/programs/sparse_rows.py"),
    "For": "it calls a function of its graph. Tested in tests/oracle/programs/control.py",
    "_ForSteps": "an op of Argosy alone. Tested in tests/session/for_loop_test.cc",
    "RecordInput": "it draws in an order of its own. Tested in tests/session/file_ops_test.cc",
    **dict.fromkeys(("CompositeTensorVariantFromComponents", "CompositeTensorVariantToComponents"),
                    "its input is a variant that another op made. Tested in tests/oracle/programs/sparse_rows.py"),
    "DisableCopyOnRead": VARIABLE,
    "EmptyTensorMap": "its input is a map that another op made. Tested in argosy/ops/map/map_test.cc",
    **{"TensorMap" + op: "its input is a map that another op made. Tested in argosy/ops/map/map_test.cc"
       for op in ("Insert", "Lookup", "Erase", "HasKey", "Size", "StackKeys")},
    **dict.fromkeys(("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap"),
                    "it holds tensors for another op. Tested in argosy/ops/sparse/sparse_test.cc"),
    **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"),
                    "it calls Python functions of the program. Tested in tests/oracle/scripts/run_scripts.py"),
    **{kind + op: CALLS for op in ("If", "Case", "While") for kind in ("", "Stateless")},
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall", "BatchFunction"), CALLS),
    "EmptyTensorList": LISTS,
    **{"TensorList" + op: LISTS
       for op in ("Reserve", "PushBack", "PopBack", "SetItem", "GetItem", "Stack", "FromTensor", "Length", "Resize",
                  "ElementShape", "Gather", "Scatter", "ScatterV2", "ScatterIntoExistingList", "Concat", "ConcatV2", "Split",
                  "ConcatLists", "PushBackBatch")},
    **{f"TensorArray{op}{v}": ARRAYS for v in ("", "V2", "V3")
       for op in ("", "Read", "Write", "Gather", "Scatter", "Concat", "Split", "Size", "Grad", "Close")},
    "TensorArrayGradWithShape": ARRAYS,
    **{"Barrier" + op: STATE for op in ("", "InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize")},
    **{f"Stack{op}{v}": ARRAYS for op in ("", "Push", "Pop", "Close") for v in ("", "V2")},
    **dict.fromkeys(("Stage", "Unstage", "StagePeek", "StageSize", "StageClear"), STATE),
    **{kind + op: STATE for kind in ("Map", "OrderedMap")
       for op in ("Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear")},
    **dict.fromkeys(("_RefToHandle", "_HandleToRef"), "an op of Argosy alone. Tested in tests/session/functional_test.cc"),
    **dict.fromkeys(("Resampler", "ResamplerGrad"),
                    "they are in tf.contrib of TensorFlow 1.x only. Tested in argosy/ops/image/resampler_test.cc"),
    "CompareAndBitpack": "it is in TensorFlow 1.x only. Tested in argosy/ops/array/array_test.cc",
    "GatherTree": "it is in tf.contrib of TensorFlow 1.x only. Tested in argosy/ops/gather/gather_test.cc",
    "RefSelect": "it gives a reference, which needs a graph. Tested in argosy/ops/state/state_test.cc",
    "Timestamp": "its value differs each time",
    **dict.fromkeys(("RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration"), FLOW),
    **dict.fromkeys(("VarHandleOp", "Variable", "VariableV2", "TemporaryVariable", "DestroyTemporaryVariable"), VARIABLE),
    **dict.fromkeys(("Placeholder", "PlaceholderV2", "_Arg"), FED),
    **dict.fromkeys(("_Send", "_Recv", "_HostSend", "_HostRecv"),
                    "it waits for another task. Tested in argosy/ops/send_recv/send_recv_test.cc"),
    **dict.fromkeys(("_PackValues", "_UnpackValues"), "an op of Argosy alone. Tested in argosy/ops/send_recv/pack_values_test.cc"),
    **dict.fromkeys(("_StreamPlace", "_SetStreamPlace"),
                    "an op of Argosy alone. Tested in argosy/tf/server/tests/cluster_replication_test.cc"),
    "_ShapeError": "an op of Argosy alone. Tested in argosy/ops/constant/constant_test.cc",
    "_ReadAgain": "an op of Argosy alone. Tested in argosy/ops/state/state_test.cc",
    "_Missing": "an op of Argosy alone. Tested in argosy/tf/server/tests/server_test.cc",
    **dict.fromkeys(("_ReduceScatter", "_AllGather", "_AllToAll", "_AllGatherVariables", "_ResourceAllGatherVariables"),
                    "an op of Argosy alone. Tested in tests/session/shard_collectives_test.cc"),
    "_AllReduce": "an op of Argosy alone. Tested in tests/replicas/training_test.cc",
    **dict.fromkeys(["NcclAllReduce", "CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveGatherV2",
                     *(f"CollectiveBcast{end}{v}" for end in ("Send", "Recv") for v in ("", "V2"))],
                    "it waits for the other members of its group. Tested in tests/oracle/programs/strategies.py"),
    "RemoteCall": "it calls functions of its graph. Tested in tests/oracle/programs/strategies.py",
    "ComputeBatchSize": "pipelines are compared as a whole. Tested in tests/oracle/programs/strategies.py",
    "_FusedElementwise": "an op of Argosy alone. Tested in argosy/passes/fuse/fuse_elementwise_test.cc",
    **dict.fromkeys(("_ApplyMany", "_ResourceApplyMany"), "an op of Argosy alone. Tested in argosy/passes/fuse/fuse_updates_test.cc"),
}
PIPELINES = ("Dataset", "Iterator", "Optional", "MemoryCache", "SeedGenerator")  # tried by tests/oracle/graphs/datasets.py
