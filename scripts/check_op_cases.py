#!/usr/bin/env python3
"""Is every op tried? (ctest "op_cases"; reads what the op tests of the same run wrote down)

    scripts/check_op_cases.py FOLDER [--list]

FOLDER has ops.json (argosy/testing/op_cases/op_signature_test.cc) and ops_<family>_test.jsonl (argosy/testing/op_cases/op_dump.h). Fails when an op
has no case that runs through, or a differentiable op no gradient that was held against finite differences, and is not
named below with the test that tries it instead; also when such a name is no longer needed. --list prints the counts per
op and the dtypes an op claims that no case uses.
"""
import argparse
import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Ops that the harness of single ops cannot try: op -> (file, test) that does. "forward" and "gradient" apart.
FLOW = "tests/session/control_flow_test.cc"
STATE = "argosy/ops/state/state_test.cc"
LISTS = "argosy/ops/list/list_test.cc"
ARRAYS = "argosy/ops/tensor_array/tensor_array_test.cc"
FUNCTIONS = "tests/session/functional_test.cc"
SLOPES = "tests/session/functional_gradient_test.cc"
LIST_TESTS = {
    "GrowAndShrinkAtTheEnd": ("EmptyTensorList", "TensorListPushBack", "TensorListPopBack", "TensorListStack",
                              "TensorListLength"),
    "SetAndGet": ("TensorListReserve", "TensorListSetItem", "TensorListGetItem"),
    "RowsOfTensors": ("TensorListFromTensor", "TensorListGather", "TensorListScatterV2"),
    "RowsIntoAList": ("TensorListScatterIntoExistingList", "TensorListResize", "TensorListElementShape"),
    "PiecesOfUnlikeLength": ("TensorListSplit", "TensorListConcatV2"),
    "OfTheFirstVersions": ("TensorListConcat", "TensorListScatter"),
    "InBatches": ("TensorListConcatLists", "TensorListPushBackBatch"),
}
ARRAY_TESTS = {
    "WriteThenRead": ("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArraySizeV3"),
    "ReadsWritesRows": ("TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayGradV3"),
    "SplitAndConcat": ("TensorArraySplitV3", "TensorArrayConcatV3"),
    "Stacks": ("StackV2", "StackPushV2", "StackPopV2"),
    "StacksByReference": ("Stack", "StackPush", "StackPop", "StackClose"),
    "AreClosedForGood": ("TensorArrayCloseV3", "StackCloseV2"),
    "GradientsWithMoreAxes": ("TensorArrayGradWithShape",),
    "DoAsTheNewOnes": tuple(f"TensorArray{op}{v}" for v in ("", "V2") for op in (
        "", "Grad", "Read", "Write", "Gather", "Scatter", "Concat", "Split", "Size", "Close")),
}
STAGING = "argosy/ops/staging/staging_test.cc"
STAGING_TESTS = {
    "InAGraph": ("Stage", "Unstage", "StagePeek", "StageSize", "StageClear"),
    "MapsInAGraph": tuple(kind + op for kind in ("Map", "OrderedMap") for op in (
        "Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear")),
}
CALLS = {  # op -> (test of what it does, of its gradient)
    "If": ("EffectsHappenInTheBranchTaken", "GradientSeesWhatTheForwardPassSaw"),
    "StatelessIf": ("CondTakesOneBranch", "GradientOfCond"),
    "Case": ("StatefulCases", "GradientOfStatefulCasesAndCalls"),
    "StatelessCase": ("SwitchCaseTakesTheLastBranchOutOfRange", "GradientOfSwitchCase"),
    "While": ("LoopsReadAndWriteVariables", "GradientSeesWhatTheForwardPassSaw"),
    "StatelessWhile": ("LoopsRunUntilTheirConditionFails", "GradientOfLoops"),
    "PartitionedCall": ("CallsShareOneBody", "GradientOfCalls"),
    "StatefulPartitionedCall": ("StatefulCases", "GradientOfStatefulCasesAndCalls"),
    "_RefToHandle": ("LoopsReadAndWriteVariables", "GradientOfCapturedVariables"),
    "_HandleToRef": ("LoopsReadAndWriteVariables", "GradientOfCapturedVariables"),
}
SPARSE = "argosy/ops/sparse/sparse_test.cc"
RAGGED = "argosy/ops/ragged/ragged_test.cc"
MAPS = "argosy/ops/map/map_test.cc"
CSR = "argosy/ops/csr/csr_test.cc"
CSR_TESTS = {
    "Forms": ("SparseTensorToCSRSparseMatrix", "DenseToCSRSparseMatrix", "CSRSparseMatrixToDense",
              "CSRSparseMatrixToSparseTensor", "CSRSparseMatrixComponents", "SparseMatrixNNZ", "SparseMatrixZeros"),
    "Products": ("SparseMatrixMatMul", "SparseMatrixSparseMatMul"),
    "Arithmetic": ("SparseMatrixTranspose", "SparseMatrixAdd", "SparseMatrixMul", "SparseMatrixSoftmax"),
    "GradientsOfProducts": ("_SparseMatrixMatMulGrad", "_SparseMatrixAtPlaces", "_SparseMatrixAtIndices"),
    "OtherGradients": ("SparseMatrixSoftmaxGrad",),
    "Factors": ("SparseMatrixOrderingAMD", "SparseMatrixSparseCholesky"),
}
DATASETS = "tests/session/dataset_test.cc"
DATASET_OPS = "tests/session/dataset_ops_test.cc"
DATASET_ENDS = "tests/session/dataset_ends_test.cc"
DATASET_READERS = "tests/session/dataset_readers_test.cc"
ITERATORS = "tests/session/iterator_test.cc"
MULTI_DEVICE = "tests/session/multi_device_iterator_test.cc"
GROUPS = "tests/session/named_groups_test.cc"
SHARD_TESTS = {
    "AReduceScatterIsTheRowsOfAnAllReduce": ("_ReduceScatter",),
    "AnAllGatherGivesTheGlobalValues": ("_AllGather",),
    "AnAllToAllTurnsShardsOfOneAxisIntoShardsOfAnother": ("_AllToAll",),
    "VariablesAreGatheredInPlace": ("_AllGatherVariables", "_ResourceAllGatherVariables"),
}
GROUP_TESTS = {
    "AreReduced": ("NcclAllReduce",),
    "GiveMeansAndQuotients": ("CollectiveReduceV2",),
    "AreReducedByAttributes": ("CollectiveReduce",),
    "AreGatheredInTheOrderOfTheirDevices": ("CollectiveGather", "CollectiveGatherV2"),
    "AreBroadcast": tuple(f"CollectiveBcast{end}{v}" for end in ("Send", "Recv") for v in ("", "V2")),
    "CallsRunWhereTheyAreSent": ("RemoteCall",),
}
PIPELINE_TESTS = {  # datasets and iterators are tried by whole pipelines; tests/oracle/graphs/datasets.py holds them against TensorFlow
    (MULTI_DEVICE, "DealOutElements"): "MultiDeviceIterator MultiDeviceIteratorInit MultiDeviceIteratorGetNextFromShard",
    (MULTI_DEVICE, "AreNamedByTexts"): "MultiDeviceIteratorToStringHandle MultiDeviceIteratorFromStringHandle "
                                       "DeleteMultiDeviceIterator",
    (MULTI_DEVICE, "WithoutANameLiveAsLongAsTheirHandle"): "AnonymousMultiDeviceIterator AnonymousMultiDeviceIteratorV3",
    (MULTI_DEVICE, "GivesEachReplicaItsPart"): "RebatchDataset ExperimentalRebatchDataset",
    (MULTI_DEVICE, "BatchesAreSeen"): "ComputeBatchSize",
    (MULTI_DEVICE, "LeadToTheDatasetWithinTheStep"): "DatasetToGraph DatasetToGraphV2 DatasetFromGraph WrapDatasetVariant "
                                                      "UnwrapDatasetVariant",
    (DATASETS, "OfTensors"): "TensorDataset TensorSliceDataset",
    (DATASETS, "OfNumbers"): "RangeDataset",
    (DATASETS, "TakenSkippedRepeated"): "TakeDataset SkipDataset RepeatDataset ShardDataset",
    (DATASETS, "SideBySideAndOneAfterTheOther"): "ZipDataset ConcatenateDataset",
    (DATASETS, "Mapped"): "MapDataset ParallelMapDatasetV2",
    (DATASETS, "Batched"): "BatchDatasetV2",
    (DATASETS, "OfUnlikeElementsAreBatchedOnlyWithPadding"): "PaddedBatchDataset",
    (DATASETS, "FlatMappedAndInterleaved"): "FlatMapDataset InterleaveDataset ParallelInterleaveDatasetV3",
    (DATASETS, "Shuffled"): "ShuffleDataset",
    (DATASETS, "Cached"): "CacheDataset",
    (DATASETS, "ReadAhead"): "PrefetchDataset",
    (DATASETS, "OfFiles"): "TextLineDataset TFRecordDataset FixedLengthRecordDataset",
    (DATASETS, "Windows"): "WindowDataset",
    (DATASET_OPS, "HintsChangeNothing"):
        "OptionsDataset ModelDataset NonSerializableDataset ExperimentalNonSerializableDataset FinalizeDataset "
        "MaxIntraOpParallelismDataset ExperimentalMaxIntraOpParallelismDataset PrivateThreadPoolDataset "
        "ExperimentalPrivateThreadPoolDataset AutoShardDataset ExperimentalAutoShardDataset BytesProducedStatsDataset "
        "ExperimentalBytesProducedStatsDataset LatencyStatsDataset ExperimentalLatencyStatsDataset RewriteDataset "
        "ThreadPoolDataset ExperimentalThreadPoolDataset ThreadPoolHandle ExperimentalThreadPoolHandle "
        "OptimizeDataset OptimizeDatasetV2 AssertNextDataset ExperimentalAssertNextDataset AssertPrevDataset",
    (DATASET_OPS, "ElementsOneByOne"):
        "FilterDataset ParallelFilterDataset TakeWhileDataset ExperimentalTakeWhileDataset ScanDataset "
        "ExperimentalScanDataset FilterByLastComponentDataset ExperimentalMapDataset ParallelMapDataset UniqueDataset "
        "ExperimentalUniqueDataset IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset",
    (DATASET_OPS, "FunctionsMayEndTheSequence"): "GeneratorDataset",
    (DATASET_OPS, "Batches"):
        "BatchDataset ParallelBatchDataset MapAndBatchDataset ExperimentalMapAndBatchDataset UnbatchDataset "
        "ExperimentalUnbatchDataset PaddedBatchDatasetV2",
    (DATASET_OPS, "Shuffles"):
        "ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDatasetV2 ShuffleDatasetV3 DummySeedGenerator "
        "AnonymousSeedGenerator AnonymousRandomSeedGenerator",
    (DATASET_OPS, "Interleaves"):
        "ParallelInterleaveDataset ExperimentalParallelInterleaveDataset LegacyParallelInterleaveDatasetV2 "
        "ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV4 DirectedInterleaveDataset "
        "ExperimentalDirectedInterleaveDataset",
    (DATASET_OPS, "Groups"):
        "GroupByWindowDataset ExperimentalGroupByWindowDataset GroupByReducerDataset ExperimentalGroupByReducerDataset",
    (DATASET_ENDS, "Sources"): "RandomDataset ExperimentalRandomDataset RandomDatasetV2 SparseTensorSliceDataset",
    (DATASET_ENDS, "Files"): "TFRecordDatasetV2 FixedLengthRecordDatasetV2",
    (DATASET_ENDS, "SharedCaches"): "CacheDatasetV2 AnonymousMemoryCache DummyMemoryCache",
    (DATASET_ENDS, "CountedAndReducedAtOnce"):
        "DatasetCardinality ExperimentalDatasetCardinality DatasetToSingleElement ReduceDataset",
    (DATASET_READERS, "Csv"): "CSVDataset CSVDatasetV2 ExperimentalCSVDataset",
    (DATASET_READERS, "Examples"): "ParseExampleDataset ParseExampleDatasetV2 ExperimentalParseExampleDataset",
    (DATASET_READERS, "BatchesCutAnotherWay"):
        "SlidingWindowDataset ExperimentalSlidingWindowDataset RebatchDatasetV2 DenseToSparseBatchDataset "
        "ExperimentalDenseToSparseBatchDataset SleepDataset ExperimentalSleepDataset ChooseFastestDataset "
        "ExperimentalChooseFastestDataset",
    (DATASET_READERS, "ListsAndMatchingFiles"): "ListDataset MatchingFilesDataset ExperimentalMatchingFilesDataset",
    (DATASET_ENDS, "FillTables"): "InitializeTableFromDataset",
    (DATASET_ENDS, "AssertedCardinality"): "AssertCardinalityDataset",
    (DATASET_ENDS, "HandlesAreLetGo"): "DeleteMemoryCache DeleteSeedGenerator DeleteRandomSeedGenerator DeleteIterator",
    (ITERATORS, "SayWhatIsMissingAndStartOver"): "IteratorV2 MakeIterator IteratorGetNext",
    (ITERATORS, "OfOneShotMakeTheirDatasetThemselves"): "OneShotIterator",
    (ITERATORS, "AreNamedByTexts"): "IteratorToStringHandle IteratorFromStringHandle IteratorFromStringHandleV2",
    (ITERATORS, "GiveOptionals"):
        "IteratorGetNextAsOptional OptionalHasValue OptionalGetValue OptionalNone OptionalFromValue",
    (ITERATORS, "WithoutNamesGoWithTheirHandle"):
        "AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 IteratorGetDevice ExperimentalIteratorGetDevice",
    (ITERATORS, "GoOnWhereTheyWereSaved"): "SerializeIterator DeserializeIterator",
    (ITERATORS, "HaveOlderNames"): "Iterator IteratorGetNextSync",
}
STAIRS = ("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
          "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4")
QUEUES = "tests/session/queue_test.cc"
QUEUE_KINDS = ("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue")
QUEUE_OPS = tuple("Queue" + op for op in ("Enqueue", "EnqueueMany", "Dequeue", "DequeueMany", "DequeueUpTo", "Close",
                                          "IsClosed", "Size"))
QUEUE_TESTS = {
    "FirstInFirstOut": ("FIFOQueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2", "QueueSizeV2"),
    "ClosedForEnqueuesThenDrained": ("QueueEnqueueV2", "QueueDequeueUpToV2", "QueueCloseV2", "QueueIsClosedV2"),
    "RandomOrderIsTensorFlowsForItsSeeds": ("RandomShuffleQueueV2",),
    "BatchesArePadded": ("PaddingFIFOQueueV2",),
    "TheLeastComesFirstAndEqualsInTheirOrder": ("PriorityQueueV2",),
    "OldFormsByReference": (*QUEUE_KINDS, *QUEUE_OPS),
}
ACCUMULATORS = "tests/session/accumulator_test.cc"
ACCUMULATOR_OPS = ("ConditionalAccumulator", "AccumulatorApplyGradient", "AccumulatorTakeGradient",
                   "AccumulatorNumAccumulated", "AccumulatorSetGlobalStep")
ACCUMULATOR_TESTS = {
    "ByHandleAndByReference": (*ACCUMULATOR_OPS, *("Resource" + op for op in ACCUMULATOR_OPS)),
    "Rows": ("SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"),
}
FILES = "tests/session/file_ops_test.cc"
READERS = ("TextLineReader", "ReaderRead", "ReaderReadUpTo", "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted",
           "ReaderReset")
MORE_READERS = ("WholeFileReader", "FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "ReaderSerializeState",
                "ReaderRestoreState")
FILE_TESTS = {
    "WholeFiles": ("ReadFile", "WriteFile", "MatchingFiles"),
    "SaveRestoreMerge": ("SaveV2", "RestoreV2", "MergeV2Checkpoints"),
    "RecordsAreDrawnFromAllFiles": ("RecordInput",),
    "WarmStarts": ("GenerateVocabRemapping", "LoadAndRemapMatrix"),
    "FilesOfTheFirstFormat": ("Save", "SaveSlices", "Restore", "RestoreSlice"),
    "ReadersGoFromFileToFile": [op + v for op in READERS for v in ("", "V2")],
    "EveryKindOfReader": [op + v for op in MORE_READERS for v in ("", "V2")],
    "TablesFromText": ("InitializeTableFromTextFile", "InitializeTableFromTextFileV2"),
}
SESSION_VALUES = ("argosy/ops/session_value/session_value_test.cc", "KeptReadDeleted")
CALLBACKS = ("tests/session/host_callbacks_test.cc", "GiveWhatTheFunctionGives")
TABLES = "argosy/ops/table/table_test.cc"
TABLE_OPS = tuple("LookupTable" + op for op in ("Find", "Insert", "Import", "Export", "Size"))
TABLE_TESTS = {
    "AreFilledOnceThenRead": ("HashTable", "HashTableV2", "InitializeTable", "InitializeTableV2"),
    "MayChange": ("MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2",
                  "LookupTableRemoveV2", *(op + v for op in TABLE_OPS for v in ("", "V2"))),
    "WithKeysThatNobodyMayUse": ("MutableDenseHashTable", "MutableDenseHashTableV2"),
    "WithoutNames": ("AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors",
                     "AnonymousMutableDenseHashTable"),
}
MUTEXES = ("tests/session/mutex_test.cc", "GuardsSections")
WRITERS = ("argosy/tf/model/summary_writer_test.cc", "WriteAllKinds")
ELSEWHERE = {
    "forward": {
        **dict.fromkeys(("MutexV2", "MutexLock", "ConsumeMutexLock"), MUTEXES),
        **dict.fromkeys(("SummaryWriter", "CreateSummaryFileWriter", "CloseSummaryWriter", "FlushSummaryWriter", "WriteSummary",
                         "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary", "WriteAudioSummary",
                         "WriteGraphSummary", "WriteRawProtoSummary", "ImportEvent"), WRITERS),
        "DisableCopyOnRead": (STATE, "CopiesOnReadAreSwitchedOff"),
        **dict.fromkeys(("GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor", "DeleteSessionTensor"),
                        SESSION_VALUES),
        **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), CALLBACKS),
        **dict.fromkeys(("_Send", "_Recv", "_HostSend", "_HostRecv"),
                        ("argosy/ops/send_recv/send_recv_test.cc", "ValuesAndDeadValuesMeet")),
        **dict.fromkeys(("_PackValues", "_UnpackValues"), ("argosy/ops/send_recv/pack_values_test.cc", "ThereAndBack")),
        **dict.fromkeys(("_StreamPlace", "_SetStreamPlace"),
                        ("argosy/tf/server/tests/cluster_replication_test.cc", "TheBitsAreThoseOfOneProcess")),
        **{op: (FILES, test) for test, ops in FILE_TESTS.items() for op in ops},
        **{op: (TABLES, test) for test, ops in TABLE_TESTS.items() for op in ops},
        **{f"Barrier{op}": ("argosy/ops/barrier/barrier_test.cc", "InAGraph")
           for op in ("", "InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize")},
        **{op: (QUEUES, test) for test, ops in QUEUE_TESTS.items() for op in ops},
        **{op: (ACCUMULATORS, test) for test, ops in ACCUMULATOR_TESTS.items() for op in ops},
        **{op: (RAGGED, "ThereAndBack") for op in ("RaggedTensorToVariant", "RaggedTensorFromVariant")},
        "RaggedTensorToVariantGradient": (RAGGED, "Gradients"),
        **{op: (CSR, test) for test, ops in CSR_TESTS.items() for op in ops},
        **dict.fromkeys(("For", "_ForSteps"), ("tests/session/for_loop_test.cc", "CountsUpAndDown")),
        **dict.fromkeys(("CompositeTensorVariantFromComponents", "CompositeTensorVariantToComponents"),
                        ("argosy/ops/ragged/composite_test.cc", "ThereAndBack")),
        "EmptyTensorMap": (MAPS, "EntriesComeAndGo"),
        **{f"TensorMap{op}": (MAPS, "EntriesComeAndGo")
           for op in ("Insert", "Lookup", "Erase", "HasKey", "Size", "StackKeys")},
        **{op: (SPARSE, "Maps")
           for op in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")},
        **{op: (LISTS, test) for test, ops in LIST_TESTS.items() for op in ops},
        **{op: (ARRAYS, test) for test, ops in ARRAY_TESTS.items() for op in ops},
        **{op: (STAGING, test) for test, ops in STAGING_TESTS.items() for op in ops},
        **{op: (FUNCTIONS, tests[0]) for op, tests in CALLS.items()},
        "BatchFunction": (FUNCTIONS, "BatchesOfOneCall"),
        **{op: where for where, ops in PIPELINE_TESTS.items() for op in ops.split()},
        "Timestamp": ("argosy/ops/debug/debug_test.cc", "TimestampsAreNow"),
        "Placeholder": ("argosy/ops/constant/constant_test.cc", "PlaceholderMustBeFed"),
        "PlaceholderV2": ("argosy/ops/constant/constant_test.cc", "PlaceholderMustBeFed"),
        "_Arg": ("tests/session/session_test.cc", "FeedsRunsFetches"),
        "Switch": ("argosy/ops/control_flow/control_flow_test.cc", "SwitchLeavesTheOtherOutputDead"),
        "RefSwitch": (FLOW, "BranchesOfReferences"),
        "RefMerge": (FLOW, "BranchesOfReferences"),
        "RefSelect": (STATE, "RefSelectNamesOneOfTheVariables"),
        "RefEnter": (FLOW, "FramesOfReferences"),
        "RefExit": (FLOW, "FramesOfReferences"),
        "RefNextIteration": (FLOW, "LoopsOfReferences"),
        "VarHandleOp": (STATE, "LiveBetweenRuns"),
        "VariableV2": (STATE, "LiveBetweenRuns"),
        "Variable": (STATE, "TheOldVariableOpSaysNothingWithAScalar"),
        "TemporaryVariable": (STATE, "TemporaryVariables"),
        "DestroyTemporaryVariable": (STATE, "TemporaryVariables"),
        "Abort": ("argosy/ops/control_flow/control_flow_test.cc", "AbortIsAnErrorOfTheStep"),
        "_ShapeError": ("argosy/ops/constant/constant_test.cc", "AShapeErrorIsTheErrorOfItsNode"),
        "_Missing": ("argosy/tf/server/tests/server_test.cc", "TheOutputOfAnOpWeLackCanBeFed"),
        "_FusedElementwise": ("argosy/passes/fuse/fuse_elementwise_test.cc", "EveryOpKeepsItsBits"),
        "_ApplyMany": ("argosy/passes/fuse/fuse_updates_test.cc", "TheSameNumbersInOneOp"),
        "_ResourceApplyMany": ("argosy/passes/fuse/fuse_updates_test.cc", "TheSameNumbersInOneOp"),
        **{op: ("tests/session/shard_collectives_test.cc", test) for test, ops in SHARD_TESTS.items() for op in ops},
        "_AllReduce": ("tests/replicas/training_test.cc", "SameLossesOnAnyNumberOfDevices"),
        **{op: (GROUPS, test) for test, ops in GROUP_TESTS.items() for op in ops},
    },
    "gradient": {
        "NcclAllReduce": (GROUPS, "GradientsAreSums"),
        "ApproxTopK": ("argosy/ops/gather/gather_test.cc", "ApproxTopKHasTheGradientOfTopK"),
        "RandomGamma": ("argosy/ops/distribution/distribution_test.cc", "GradientOfGamma"),
        **{op: ("argosy/ops/quantize/quantize_test.cc", "GradientsAreThoseOfTheIdentity") for op in STAIRS},
        **{op: (SLOPES, tests[1]) for op, tests in CALLS.items()},
        "Switch": (FLOW, "GradientsFollowTheBranchTaken"),
        "Merge": (FLOW, "GradientsFollowTheBranchTaken"),
    },
}


def read(folder):
    ops = [json.loads(line) for line in (folder / "ops.json").read_text().splitlines()]
    forward, refused = collections.Counter(), collections.Counter()
    gradients, dtypes = collections.Counter(), collections.defaultdict(set)
    for path in sorted(folder.glob("ops_*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                op = case["op"]
                if case.get("gradient"):
                    gradients[op] += 1
                elif "error" in case:
                    refused[op] += 1
                else:
                    forward[op] += 1
                    for name, value in case["attrs"].items():
                        if "type" in value:
                            dtypes[op].add((name, value["type"]))
    return ops, forward, refused, gradients, dtypes


def faults(kind, ops, tried):
    elsewhere = ELSEWHERE[kind]
    for op in sorted(ops):
        if op in tried and op in elsewhere:
            yield f"{op}: has its own {kind} case now; strike it from ELSEWHERE[\"{kind}\"]"
        elif op not in tried and op not in elsewhere:
            yield f"{op}: no {kind} case"
    for op, (path, test) in sorted(elsewhere.items()):
        source = ROOT / path
        if op not in ops:
            yield f"{op}: in ELSEWHERE[\"{kind}\"], but needs no {kind} case"
        elif not source.is_file() or test not in source.read_text():
            yield f"{op}: {path} has no test {test}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    ops, forward, refused, gradients, dtypes = read(options.folder)
    names = {op["name"] for op in ops}
    differentiable = {op["name"] for op in ops if op["differentiable"]}
    if options.list:
        for op in sorted(ops, key=lambda o: o["name"]):
            name = op["name"]
            unused = {a["name"]: sorted(t for t in a["types"] if (a["name"], t) not in dtypes[name])
                      for a in op["attrs"] if a["kind"] == "type" and a["types"]}
            print(f"{name:36} {forward[name]:5} cases {refused[name]:4} refused {gradients[name]:4} gradients",
                  {a: t for a, t in unused.items() if t} or "")
    found = [*faults("forward", names, set(forward)), *faults("gradient", differentiable, set(gradients))]
    for fault in found:
        print(fault)
    print(f"{len(names)} ops: {sum(forward.values())} cases run, {sum(refused.values())} are refused as they must be; "
          f"{len(differentiable)} are differentiable: {sum(gradients.values())} gradients held against finite differences; "
          f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
