#!/usr/bin/env python3
"""GraphDefs of TensorFlow, damaged field by field: mutated_graphs.py FUZZ_GRAPH_DEF [SEED [COUNT]]

Random bytes rarely pass a parser. So real graphs (fuzz/corpus/graph_def) are changed through their messages: other ops,
types, numbers and names, inputs too many or too few, functions that return what they have not got. The fuzz target must
come back from every one of them: an error, never a crash. A file that breaks it belongs into the corpus.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tensorflow.core.framework import graph_pb2

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "fuzz/corpus/graph_def"
NUMBERS = [0, -1, 1, 2, 3, -2**63, 2**63 - 1, 2**31, 65536, 65537, 1 << 24, 255, 1000]
TYPES = [0, 1, 2, 3, 7, 9, 10, 14, 19, 20, 21, 24, 99, 101]
OPS = ["Merge", "Switch", "Enter", "Exit", "NextIteration", "LoopCond", "Const", "Identity", "IdentityN", "AddN", "Pack",
       "Split", "SplitV", "ConcatV2", "MatMul", "Conv2D", "Reshape", "StridedSlice", "PartitionedCall", "StatelessWhile",
       "StatelessIf", "StatelessCase", "SymbolicGradient", "TensorListReserve", "TensorArrayV3", "RefMerge", "_Arg",
       "_Retval", "VariableV2", "Assign", "VarHandleOp", "RandomUniform", "weigh", "NoSuchOp"]


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def tensor(self, tensor):
        change = self.random.randrange(6)
        if change == 0:
            tensor.dtype = self.pick(TYPES)
        elif change == 1:
            tensor.tensor_shape.dim.add().size = self.pick(NUMBERS)
        elif change == 2:
            tensor.tensor_content = self.random.randbytes(self.random.randrange(40))
        elif change == 3:
            tensor.float_val.append(self.pick([float("nan"), 1e30, -0.0]))
        elif change == 4:
            tensor.int_val.append(self.pick([-2**31, 2**31 - 1, 0, 7]))
        else:
            tensor.tensor_shape.unknown_rank = True

    def attr(self, attr):
        kind = attr.WhichOneof("value") if self.random.random() < 0.7 else self.pick(["i", "type", "s", "list", "func"])
        if kind == "i":
            attr.i = self.pick(NUMBERS)
        elif kind == "type":
            attr.type = self.pick(TYPES)
        elif kind == "s":
            attr.s = self.pick([b"", b"VALID", b"\xff\xfe", b"x" * 1000])
        elif kind == "b":
            attr.b = not attr.b
        elif kind == "shape":
            attr.shape.dim.add().size = self.pick(NUMBERS)
        elif kind == "tensor":
            self.tensor(attr.tensor)
        elif kind == "func":
            attr.func.name = self.pick(["", "weigh", "cubed", "nope"])
        elif kind == "list":
            change = self.random.randrange(5)
            if change == 0:
                attr.list.SetInParent()
            elif change == 1:
                attr.list.i.append(self.pick(NUMBERS))
            elif change == 2:
                attr.list.type.append(self.pick(TYPES))
            elif change == 3:
                attr.list.shape.add().dim.add().size = self.pick(NUMBERS)
            elif attr.list.type:
                attr.list.type.pop()

    def node(self, node, names):
        change = self.random.randrange(9)
        if change <= 2 and node.attr:
            self.attr(node.attr[self.pick(sorted(node.attr))])
        elif change == 3 and node.attr:
            del node.attr[self.pick(sorted(node.attr))]
        elif change == 4:
            node.op = self.pick(OPS)
        elif change == 5 and node.input:
            node.input[self.random.randrange(len(node.input))] = self.pick(names)
        elif change == 6:
            node.input.append(self.pick(names))
        elif change == 7 and node.input:
            del node.input[self.random.randrange(len(node.input))]
        else:
            node.name = self.pick([node.name + "x", "x", self.pick(names)])

    def function(self, function):
        change = self.random.random()
        signature = function.signature
        if change < 0.15 and function.ret:
            function.ret[self.pick(sorted(function.ret))] = self.pick(["x", "", "a:b:c:d", "x:0:0", ":"])
        elif change < 0.25 and signature.input_arg:
            arg = self.pick(list(signature.input_arg))
            field, value = self.pick([("type", 20), ("type", 0), ("type_list_attr", "T"), ("number_attr", "N"), ("name", "x")])
            setattr(arg, field, value)
        elif change < 0.3:
            attr = signature.attr.add()
            attr.name, attr.type = "T", "type"
        elif change < 0.35:
            function.control_ret["effect"] = self.pick(["x", "nowhere", ""])
        elif change < 0.4 and signature.output_arg:
            del signature.output_arg[0]
        elif function.node_def:
            names = [n.name + self.pick(["", ":output:0", ":z:0", ":y:9", ":output"]) for n in function.node_def]
            self.node(self.pick(list(function.node_def)), names + [a.name for a in signature.input_arg])

    def graph(self, graph):
        for _ in range(self.pick([1, 1, 2, 3, 6])):
            if graph.library.function and self.random.random() < 0.5:
                self.function(self.pick(list(graph.library.function)))
            else:
                names = [self.pick(["", "", "", "^"]) + n.name + self.pick(["", "", ":0", ":1", ":7"]) for n in graph.node]
                self.node(self.pick(list(graph.node)), names)


def main():
    program, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    seeds = [graph_pb2.GraphDef.FromString(path.read_bytes()) for path in sorted(CORPUS.iterdir())]
    mutator = Mutator(seed)
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(count):
            graph = graph_pb2.GraphDef()
            graph.CopyFrom(mutator.pick(seeds))
            mutator.graph(graph)
            (pathlib.Path(scratch) / f"{i:06}").write_bytes(graph.SerializeToString())
        done = subprocess.run([program, scratch], capture_output=True, text=True, timeout=280, errors="replace")
        if done.returncode != 0:
            last = (done.stdout.split() or ["000000"])[-1]
            kept = pathlib.Path(tempfile.gettempdir()) / f"mutated_{seed}_{last}"
            kept.write_bytes((pathlib.Path(scratch) / last).read_bytes())
            print(f"ended with {done.returncode} at or after {kept}\n{done.stderr[-2000:]}")
            return 1
    print(f"{count} damaged graphs, each an error or a graph")
    return 0


if __name__ == "__main__":
    sys.exit(main())
