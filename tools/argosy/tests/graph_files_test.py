#!/usr/bin/env python3
"""argosy graph and ckpt on files as people have them (ctest "cli_graph_files"): scalars of every dtype that are fed and
fetched, messages as text under any name, Keras's own files, damaged and missing ones."""
import argparse
import base64
import json
import os
import struct
import subprocess
import tempfile
import unittest

PROGRAM = ""
TYPES = {"half": "HALF", "bfloat16": "BFLOAT16", "float": "FLOAT", "double": "DOUBLE", "int8": "INT8", "uint8": "UINT8", "int16": "INT16",
         "uint16": "UINT16", "int32": "INT32", "uint32": "UINT32", "int64": "INT64", "uint64": "UINT64", "bool": "BOOL",
         "complex64": "COMPLEX64", "complex128": "COMPLEX128", "string": "STRING", "qint8": "QINT8", "quint8": "QUINT8", "qint32": "QINT32"}
X = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
Y = "node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }\n"
META = f"meta_info_def {{ tags: 'serve' }}\ngraph_def {{ {X}{Y} }}\n"


def placeholders():
    return "".join(f"node {{ name: '{name}' op: 'Placeholder' attr {{ key: 'dtype' value {{ type: DT_{dt} }} }} attr {{ key: 'shape' value "
                   f"{{ shape {{ }} }} }} }}\n" for name, dt in TYPES.items()) + "versions { producer: 1882 }\n"


def write(name, content):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name


def write_npy(name, descr, data, shape="()"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return write(name, b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)

    def runs(self, *words, code=0):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ARGOSY_")}
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=environment)
        self.assertEqual(done.returncode, code, f"argosy {' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done

    def value(self, dtype, text):
        """What a placeholder of the dtype is after --feed, as JSON tells it."""
        done = self.runs("graph", "run", "types.pbtxt", "--feed", f"{dtype}={text}", "--fetch", dtype, "--json")
        fetched = json.loads(done.stdout)["fetches"][0]
        self.assertEqual((fetched["dtype"], fetched["shape"], fetched["complete"]), (dtype, [], True))
        return fetched["values"][0]


class Scalars(Case):
    def setUp(self):
        super().setUp()
        write("types.pbtxt", placeholders())

    def test_integers_arrive_exactly_to_the_ends_of_their_range(self):
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "qint8", "quint8", "qint32"):
            bits = int(dtype.split("int")[1])
            signed = dtype.split("int")[0] in ("", "q")
            least, most = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
            for number in (least, most, 1):
                self.assertEqual(self.value(dtype, number), number)
            for wrong in (least - 1, most + 1, "1.5", "1e3", "nan", "0x10", "", " 1", "1 "):
                done = self.runs("graph", "run", "types.pbtxt", "--feed", f"{dtype}={wrong}", "--fetch", dtype, code=2)
                self.assertIn(f"\"{wrong}\" is neither a .npy file nor a value of {dtype}: a whole number from {least} to {most}", done.stderr)
        self.assertEqual(self.value("int64", "9007199254740993"), 2**53 + 1)
        self.assertEqual(self.value("int32", "+5"), 5)

    def test_floating_numbers_are_the_nearest_of_their_dtype(self):
        for dtype, text, number in (("half", "65519.9", 65504), ("half", "1.00048828125", 1), ("half", "1.000488281251", 1 + 2**-10),
                                    ("bfloat16", "1.00390625", 1), ("bfloat16", "1.0039063", 1 + 2**-7), ("float", "0.5", 0.5),
                                    ("float", "16777217", 16777216), ("float", "1e-50", 0), ("double", "1e-400", 0), ("double", "0.1", 0.1),
                                    ("double", "9007199254740992", 2**53), ("float", "+3", 3)):
            self.assertEqual(self.value(dtype, text), number, (dtype, text))

    def test_infinity_is_fed_where_it_is_typed_only(self):
        for dtype, beyond, most in (("half", "65520", "65504"), ("bfloat16", "3.4e38", "3.3895314e+38"), ("float", "1e39", "3.4028235e+38"),
                                    ("float", "-1e400", "3.4028235e+38"), ("double", "1e309", "1.7976931348623157e+308")):
            done = self.runs("graph", "run", "types.pbtxt", "--feed", f"{dtype}={beyond}", "--fetch", dtype, code=2)
            self.assertIn(f"a number up to {most} either side of 0, inf, -inf or nan", done.stderr)
            for text in ("inf", "-inf", "nan"):
                self.assertEqual(self.value(dtype, text), text)

    def test_the_other_dtypes(self):
        for text, flag in (("true", True), ("false", False), ("1", True), ("0", False)):
            self.assertIs(self.value("bool", text), flag)
        self.assertIn("bool: true, false, 1 or 0", self.runs("graph", "run", "types.pbtxt", "--feed", "bool=2", "--fetch", "bool", code=2).stderr)
        for dtype in ("complex64", "complex128"):
            for text, number in (("1+2j", [1, 2]), ("(1,2)", [1, 2]), ("2j", [0, 2]), ("-3", [-3, 0]), ("1e+1-2e-1j", [10, -0.2]),
                                 ("inf+nanj", ["inf", "nan"])):
                told = self.value(dtype, text)
                for one, other in zip(told, number):
                    self.assertAlmostEqual(one, other, 6) if isinstance(other, float) else self.assertEqual(one, other)
            self.runs("graph", "run", "types.pbtxt", "--feed", f"{dtype}=1+j+2", "--fetch", dtype, code=2)
        self.runs("graph", "run", "types.pbtxt", "--feed", "complex64=1e39j", "--fetch", "complex64", code=2)
        self.assertEqual(self.value("string", "größe"), "größe")

    def test_files_of_another_dtype_or_shape_are_refused(self):
        write_npy("u8.npy", "|u1", b"\3")
        write_npy("two.npy", "<f4", bytes(8), "(2,)")
        self.assertEqual(self.value("uint8", "u8.npy"), 3)
        self.assertEqual(self.value("quint8", "u8.npy"), 3)  # as it is stored
        for dtype, hint in (("int32", "array.astype('int32')"), ("bfloat16", "array.astype(ml_dtypes.bfloat16)"), ("qint8", "array.astype('int8')"),
                            ("string", "try")):
            done = self.runs("graph", "run", "types.pbtxt", "--feed", f"{dtype}=u8.npy", "--fetch", dtype, code=2)
            self.assertIn(f"the file holds uint8, the graph wants {dtype}", done.stderr)
            self.assertIn(hint, done.stderr)
        done = self.runs("graph", "run", "types.pbtxt", "--feed", "float=two.npy", "--fetch", "float", code=2)
        self.assertIn("Cannot feed a value of shape [2] for 'float:0', which has shape []", done.stderr)

    def test_quantised_values_are_printed_and_written_as_they_are_stored(self):
        done = self.runs("graph", "run", "types.pbtxt", "--feed", "quint8=200", "--fetch", "quint8")
        self.assertEqual(done.stdout, "quint8 = quint8[] {200}\n")
        self.runs("graph", "run", "types.pbtxt", "--feed", "quint8=200", "--fetch", "quint8", "--out", "q.npy")
        self.assertEqual(self.value("quint8", "q.npy"), 200)


class Json(Case):
    def test_strings_that_are_no_utf8(self):
        write("s.pbtxt", "node { name: 's' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } } attr { key: 'value' value { tensor { dtype: "
              "DT_STRING tensor_shape { dim { size: 5 } } string_val: '\\377\\376' string_val: 'gr\\303\\266' string_val: '\\355\\240\\200' "
              "string_val: '' string_val: '\\300\\200a' } } } }")
        values = json.loads(self.runs("graph", "run", "s.pbtxt", "--fetch", "s", "--json").stdout)["fetches"][0]["values"]
        self.assertEqual([base64.b64decode(v["b64"]) if isinstance(v, dict) else v for v in values],
                         [b"\xff\xfe", "grö", b"\xed\xa0\x80", "", b"\xc0\x80a"])

    def test_nodes_that_were_not_converted_are_listed(self):
        write("m.pbtxt", X + Y.replace("'Neg'", "'Frobnicate'"))
        document = json.loads(self.runs("graph", "show", "m.pbtxt", "--json").stdout)
        self.assertEqual([n["name"] for n in document["nodes"]], ["x"])
        (one,) = document["not_converted"]
        self.assertEqual((one["name"], one["op"]), ("y", "Frobnicate"))
        self.assertIn("Op type not registered 'Frobnicate'", one["why"])
        self.assertIn("1 more nodes cannot be converted", self.runs("graph", "show", "m.pbtxt").stderr)
        write("good.pbtxt", X + Y)
        self.assertEqual(json.loads(self.runs("graph", "show", "good.pbtxt", "--json").stdout)["not_converted"], [])


class Text(Case):
    def test_every_message_as_text_in_a_file_of_any_name(self):
        model = f"# a comment\nmeta_graphs {{ {META} }}\n"
        for content in (X + Y, META, model, "\ufeff" + X + Y, f"saver_def {{ version: V2 }}\n{META}"):
            for name in ("g.txt", "g.pb", "g.meta", "g", "g.pbtxt"):
                done = self.runs("graph", "run", write(name, content), "--feed", "x=3", "--fetch", "y")
                self.assertEqual(done.stdout, "y = float[] {-3}\n", (name, content))
                self.assertIn("y = Neg(x)", self.runs("graph", "show", name).stdout)
                self.assertIn("2 native", self.runs("graph", "import", name).stdout)
        self.runs("graph", "diff", write("a.txt", X + Y), write("b.meta", META))
        self.runs("graph", "strip", "b.meta", "bytes.pbtxt.pb", "--output", "y")
        os.rename("bytes.pbtxt.pb", "bytes.pbtxt")  # bytes under a name of text
        self.runs("graph", "diff", "a.txt", "bytes.pbtxt")

    def test_our_own_form_is_still_ours(self):
        write("ours.txt", "# node {\nnode = Placeholder [dtype=float, shape=shape[?]]\ny = Neg(node)\n")
        self.assertIn("y = Neg(node)", self.runs("graph", "show", "ours.txt").stdout)

    def test_what_is_wrong_in_a_message_is_told_by_its_line(self):
        for content in (X + "node { nmae: }\n", META + "saver_def { version: V9 }\n"):
            done = self.runs("graph", "show", write("g.txt", content), code=2)
            self.assertIn(f"line {content.count(chr(10))}, column", done.stderr)
        self.runs("graph", "show", write("notes.pbtxt", "key: value\n"), code=2)


class NoGraph(Case):
    def test_a_missing_file_is_told_as_missing(self):
        for command in ("show", "dot", "import"):
            for name in ("none.pb", "none.meta", "none/saved_model.pb"):
                done = self.runs("graph", command, name, code=3)
                self.assertRegex(done.stderr, f"open {name}: No such file or directory\n +where +{name}\n +try +check the path")

    def test_files_of_keras_name_the_way_to_a_saved_model(self):
        write("m.keras", b"PK\x03\x04\x14\0\0\0" + bytes(40))
        write("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(40))
        for name in ("m.keras", "m.h5"):
            for words in (("show",), ("dot",), ("import",), ("run", "--fetch", "y")):
                done = self.runs("graph", words[0], name, *words[1:], code=2)
                self.assertIn("export(FOLDER) writes a SavedModel", done.stderr)

    def test_damaged_bytes_are_one_error_of_ours(self):
        self.runs("graph", "strip", write("g.pbtxt", (X + Y).replace("'x'", "'some_name'")), "g.pb", "--output", "y")
        with open("g.pb", "rb") as file:
            content = file.read()
        write("g.pb", content.replace(b"some_name", b"some\xffname"))
        done = self.runs("graph", "import", "g.pb", code=2)
        self.assertTrue(done.stderr.startswith("error ARG-IMPORT-009"), done.stderr)
        self.assertNotIn("libprotobuf", done.stderr)


class Variables(Case):
    """What tf.saved_model.save writes of a Keras 3 model: nothing restores the variables that its signature reads."""
    FLOAT = "attr { key: 'dtype' value { type: DT_FLOAT } }"

    def model(self, restored):
        handle = (f"node {{ name: 'NAME' op: 'VarHandleOp' {self.FLOAT} attr {{ key: 'shape' value {{ shape {{ }} }} }} attr {{ key: 'shared_name' "
                  "value { s: 'NAME' } } }\n")
        nodes = handle.replace("NAME", "kernel") + handle.replace("NAME", "other")
        nodes += f"node {{ name: 'y' op: 'ReadVariableOp' input: 'kernel' {self.FLOAT} }}\n"
        nodes += f"node {{ name: 'path' op: 'Placeholder' attr {{ key: 'dtype' value {{ type: DT_STRING }} }} }}\n"
        nodes += (f"node {{ name: 'one' op: 'Const' {self.FLOAT} attr {{ key: 'value' value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: 1 }} }} }} }}\n"
                  f"node {{ name: 'set' op: 'AssignVariableOp' input: '{restored}' input: 'one' {self.FLOAT} }}\n"
                  "node { name: 'restore' op: 'NoOp' input: '^set' }\n")
        return (f"meta_graphs {{ meta_info_def {{ tags: 'serve' }} graph_def {{ {nodes} }} saver_def {{ filename_tensor_name: 'path:0' restore_op_name: 'restore' }} "
                "signature_def { key: 'serving_default' value { outputs { key: 'answer' value { name: 'y:0' dtype: DT_FLOAT } } } } }\n")

    def test_import_says_that_it_will_not_run(self):
        write("keras/saved_model.pbtxt", self.model("other"))
        done = self.runs("graph", "import", "keras", code=1)
        self.assertIn("no value for 1 variables that signatures read: kernel", done.stdout)
        self.assertIn("model.export(FOLDER)", done.stdout)
        self.assertNotIn("argosy graph run", done.stdout)
        self.assertEqual(json.loads(self.runs("graph", "import", "keras", "--json", code=1).stdout)["unrestored"], ["kernel"])
        self.runs("graph", "run", "keras", "--fetch", "answer", code=1)

    def test_a_model_that_restores_its_variables_is_as_before(self):
        write("export/saved_model.pbtxt", self.model("kernel"))
        self.assertIn("run    argosy graph run export --fetch answer", self.runs("graph", "import", "export").stdout)
        self.assertEqual(json.loads(self.runs("graph", "import", "export", "--json").stdout)["unrestored"], [])


class Checkpoints(Case):
    def test_a_missing_one_is_not_damaged(self):
        done = self.runs("ckpt", "verify", "nothere", code=3)
        self.assertEqual(done.stdout, "missing  nothere\n")
        (one,) = json.loads(self.runs("ckpt", "verify", "nothere", "--json", code=3).stdout)["checkpoints"]
        self.assertEqual((one["ok"], one["missing"]), (False, True))
        write("bad.index", b"\0" * 100)
        self.assertEqual(self.runs("ckpt", "verify", "bad", code=6).stdout, "DAMAGED  bad\n")

    def test_sentences_stand_at_the_left_of_their_column(self):
        for folder, steps in (("a", "1"), ("b", "2")):
            self.runs("train", "mlp", "--image-size", "8", "--width", "8", "--batch", "16", "--no-verdict", "--steps", steps,
                      "--checkpoint-dir", folder)
        head, *lines = self.runs("ckpt", "diff", "a", "b", code=1).stdout.splitlines()
        self.assertGreater(len(lines), 3)
        for line in lines:
            self.assertRegex(line[head.index("difference"):], r"^\d+ of \d+ values differ", line)
        sizes = self.runs("ckpt", "ls", "a/model.ckpt-1").stdout.splitlines()
        self.assertEqual({len(line) for line in sizes}, {len(sizes[0])})  # numbers still stand at the right


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM = os.path.abspath(arguments.program)
    unittest.main(argv=["graph_files_test", *rest])
