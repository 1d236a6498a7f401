"""Where generated cases differ from TensorFlow on purpose, and why.

A row: ops (patterns), kinds of difference, words of its text (or several, all in it), reason. Kinds: "values", "code" (both refuse, with other
codes), "ours refuses", "ours accepts". The first row that fits is told. What a seed's own test says
(OpCase::unlike_tensorflow) keeps it out of the seeds, so that it is not said twice.
"""
import fnmatch

SPARSE = ("a sparse tensor whose indices are outside its shape, repeated or out of order: checked here, computed with there; "
          "or the other way round where an op needs no order")
MISFIT = "sizes that do not fit each other are refused here; TensorFlow reads or writes what lies beside"
BEYOND = "infinities and NaN: what comes of them depends on the order of a sum and on whether padding is multiplied"
CODES = "refused by both, under another code"

ROWS = [
    ("*", "code", "Unexpected error in binary operator", "TensorFlow blames itself for a division by zero in 8-bit and unsigned integers"),
    ("*Grad InvGrad", "ours refuses", "differ; TensorFlow", "TensorFlow takes two shapes for one when they have as many elements"),
    ("NextIteration LoopCond", "ours refuses", "", "a loop's op outside of a loop"),
    ("PlaceholderWithDefault", "ours refuses", "does not fit shape", "a default that contradicts the shape is refused here"),
    ("Round", "values", "", "TensorFlow's Round of integers gives 0"),
    ("Empty", "values", "'init': False", "TensorFlow leaves the memory as it was, unless `init` asks for zeros"),
    ("MatrixLogarithm", "values", "complex64[", "eigenvalues where the logarithm's branches meet: the sign of a rounding picks one"),
    ("*Segment*Max *Segment*Min", "values", "nan", "where NaN stands among vectors depends on TensorFlow's vector registers"),
    ("Quantize* Dequantize Requant*", "*", "special_values", "ranges that have no ends"),
    ("Requantization* QuantizeDown*", "ours refuses", "there are no integers", "of nothing, TensorFlow says a range that ends before "
     "it begins"),
    ("Requantization* QuantizeDown*", "ours refuses", "must be a scalar", "TensorFlow takes the first of several ends of a range"),
    ("QuantizedConv2D", "values", "'SAME'", "beside a range without 0, TensorFlow pads with what 8 bits hold of it"),
    ("QuantizedBiasAdd QuantizedRelu*", "values", "ordinary_values", "ranges that end before they begin"),
    ("QuantizedMaxPool QuantizedAvgPool", "ours refuses", "must be 1 in batch and channels", "TensorFlow does not look at strides "
     "over batch and channels"),
    ("Svd", "values", "'compute_uv': False", "TensorFlow leaves vectors that nobody asked for unset"),
    ("Conv2DBackprop* ResourceSparseApply*", "ours accepts", "greate", "TensorFlow refuses sizes of 0 there"),
    ("DepthwiseConv2dNative*", "ours refuses", "", "empty windows and dilations: TensorFlow does not look at them"),
    ("DepthwiseConv2dNative", "ours accepts", "does not support dilations", "TensorFlow's kernel knows no dilations"),
    ("Conv2D", "ours accepts", "filter depth", "TensorFlow refuses images of no channels"),
    ("Dilation2D", "ours refuses", "the filter must not be empty", "empty windows: TensorFlow does not look at them"),
    ("Eig", "ours refuses", "infinite or NaN", BEYOND),
    ("Expm1 Rsqrt", "values", "nan", "complex infinities and the branch point 0: which parts become NaN"),
    ("FractionalAvgPoolGrad", "ours accepts", "out_backprop must be positive", "TensorFlow refuses gradients of nothing"),
    ("FractionalAvgPoolGrad", "ours refuses", "a pooling sequence must be a vector", "TensorFlow does not look at the rank"),
    ("FractionalMaxPoolGrad", "ours refuses", "orig_output of shape", MISFIT),
    ("ParseExampleV2", "ours refuses", "Expected sparse_keys to be a vector", "TensorFlow does not look at the shape of no keys"),
    ("ParseSequenceExampleV2", "ours accepts", "Inconsistent max number", "of no examples, TensorFlow wants a dense list to have a step"),
    ("BatchMatMul* MatMul", "values", ("complex", "special_values"), "infinite complex numbers: TensorFlow multiplies part by part, which "
     "gives NaN where C's product is infinite"),
    ("QuantizedAdd QuantizedMul", "ours refuses", "inf", "ranges that have no ends"),
    ("QuantizedMatMul", "values", "[1, 0]", "products over nothing: TensorFlow leaves the memory as it was"),
    ("RandomGammaGrad", "values", "100.0", "far out in a tail, where TensorFlow's series gives 0"),
    ("ReduceJoin", "code", "Invalid reduction dimension", CODES),
    ("ResourceGather", "ours refuses", "batch_dims", MISFIT),
    ("SoftmaxCrossEntropyWithLogits", "ours refuses", "must have rank 2", "TensorFlow takes a scalar for a matrix of it"),
    ("TensorStridedSliceUpdate", "ours refuses", "does not fit the slice", "TensorFlow puts any value into an empty slice"),
    ("Tile", "ours accepts", "not supported", "TensorFlow has no uint16 there"),
    ("UnravelIndex", "ours accepts", "empty tensor indices", "TensorFlow refuses to unravel nothing"),
    ("_FusedMatMul", "ours refuses", "bias has", MISFIT),
    ("*SampleDistortedBoundingBox*", "ours refuses", "must be positive", "images of size 0, whose boxes TensorFlow gives as NaN"),
    ("StringNGrams", "ours refuses", "must have rank 1", "TensorFlow does not look at the rank"),
    ("NearestNeighbors Kmeans*", "values", "special_values", "points that are no numbers or infinitely far: which of them is near depends "
     "on the order of comparisons"),
    ("NthElement", "values", "special_values", "where NaN stands depends on TensorFlow's heap"),
    ("RandomGamma", "values", "special_values", "limits at infinity that TensorFlow takes otherwise"),
    ("ResourceApply* Apply* ResourceSparseApply* SparseApply*", "values", ("float16[", "special_values"), "TensorFlow rounds 16-bit floats "
     "at every operation: some overflow on the way"),
    ("ResourceApplyRMSProp ApplyRMSProp", "values", "float16[", "TensorFlow rounds 16-bit floats at every operation: a mean square near "
     "-epsilon magnifies that"),
    ("Inplace*", "ours refuses", "has no rows to update", "TensorFlow divides by the number of rows, or does not, as sizes have it"),
    ("StatelessRandomBinomial StatefulRandomBinomial", "values", "special_values", "draws of a probability that is no number"),
    ("ScaleAndTranslateGrad", "ours refuses", "non-zero size", "images, windows or strides of 0 and strides beyond the image"),
    ("UnsortedSegment*", "ours refuses", "outside", "TensorFlow does not look at the ids when there are no values"),
    ("Cumprod Cumsum", "values", "bfloat16[", "TensorFlow adds and multiplies 16-bit floats up in 16 bits"),
    ("Eig SelfAdjointEigV2", "values", "'compute_v': False", "TensorFlow leaves vectors that nobody asked for unset"),
    ("ToBool", "ours accepts", "cannot be converted", "TensorFlow has no 16-bit floats there"),
    ("Where", "ours accepts", "No WhereOp", "TensorFlow has no float16 there"),
    ("StatelessRandom* StatelessTruncated*", "ours accepts", "Invalid seed type", "seeds of any integer dtype are taken here"),
    ("Stateless*", "ours refuses", "key and counter must have", MISFIT),
    ("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", "values", "", "reserve spaces: TensorFlow's are unset when not training, "
     "and the third one is opaque"),
    ("FusedBatchNorm*", "ours refuses", "", "batch normalisation here takes images, and statistics of as many channels"),
    ("FusedBatchNormGrad*", "ours accepts", "only support NHWC", "TensorFlow's CPU kernel takes NHWC only"),
    ("FusedBatchNormGrad*", "values", "", BEYOND),
    ("Conv* DepthwiseConv* FFT* IFFT* RFFT* IRFFT* _Fused* CTC* BlockLSTM* GRU* LSTM*", "values", "nan", BEYOND),
    ("Conv* DepthwiseConv* FFT* IFFT* RFFT* IRFFT* _Fused* CTC* BlockLSTM* GRU* LSTM*", "values", "inf", BEYOND),
    ("DepthwiseConv2dNativeBackprop*", "values", "'dilations'", "TensorFlow takes dilations there and ignores them"),
    ("DepthwiseConv2dNative*", "ours accepts", "equal length strides", "TensorFlow's kernel strides equally only"),
    ("DepthwiseConv2dNativeBackprop*", "code", "dilations [", "TensorFlow takes dilations there and ignores them"),
    ("Conv3DBackprop*", "ours refuses", "the filter must not be empty", "empty windows: TensorFlow does not look at them"),
    ("AudioSummaryV2", "ours refuses,ours accepts", "audio is null", "sounds of no frames: TensorFlow asks where they lie in memory"),
    ("BlockLSTM* GRU* LSTM*", "values", "", "TensorFlow leaves the frames beyond seq_len_max as the memory was, and clips with "
     "16-bit floats otherwise"),
    ("BlockLSTM* GRU* LSTM*", "ours refuses", "", MISFIT),
    ("RFFT* IRFFT* FFT*", "ours refuses,ours accepts", "", "lengths of 0, and inputs that are empty anyway"),
    ("CTCGreedyDecoder CTCBeamSearchDecoder CTCLoss*", "code", "differ", CODES),
    ("CTCBeamSearchDecoder", "values,ours accepts", "special_values", "which of the beams that are NaN stay depends on the order in which "
     "TensorFlow compares them"),
    ("CumulativeLogsumexp", "values", "nan", "TensorFlow takes NaN for a sum of nothing, and two infinities for NaN"),
    ("DrawBoundingBoxes*", "values", "special_values", "boxes with edges that are no numbers"),
    ("FakeQuantWithMinMaxVars*", "values", "", "min above max: TensorFlow clips in another order"),
    ("RGBToHSV", "values", "special_values", "which channel is the greatest where one is NaN depends on the order of comparisons"),
    ("AdjustSaturation", "values", "special_values", "TensorFlow takes a saturation of NaN for grey; here NaN stays"),
    ("HSVToRGB", "values", ("float16[", "special_values"), "TensorFlow rounds 16-bit floats at every operation"),
    ("ImageSummary", "values", "", "pixels are the same, PNG's compression is another library's (tests/oracle/state_programs/summary.py)"),
    ("DecodeAndCropJpeg", "values", "'fancy_upscaling': True", "TensorFlow's crop is not what its whole image has there: colours "
     "are scaled up without their neighbours"),
    ("MaxPool*Grad* MaxPoolGrad*", "values", "", "an output that is not the input's maximum: its gradient goes nowhere in particular"),
    ("MaxPool* AvgPool* ExtractGlimpse Resize* Extract* SampleDistorted*", "ours accepts,ours refuses", "",
     "images, windows or strides of 0 and strides beyond the image"),
    ("MaxPool* AvgPool* Extract* Dilation2D*", "code", "", CODES),
    ("Dilation2D*", "values", "special_values", "windows of NaN or -inf alone: TensorFlow gives the lowest number, and their gradient to "
     "the window's first place, padding or not"),
    ("Dilation2DBackprop*", "ours accepts", "", "nothing flows back through an empty result"),
    ("ImageProjectiveTransform* ScaleAndTranslate* CropAndResize*", "values", "special_values", "places that are no numbers"),
    ("MatrixInverse MatrixSolve* Matrix*", "ours refuses", "special_values", "infinities and NaN in a matrix"),
    ("Polygamma Zeta", "values", "inf", "an infinite exponent at a pole: it is neither odd nor even, which TensorFlow asks an integer"),
    ("RandomGammaGrad Igamma* Betainc", "values", "special_values", "far out in a tail TensorFlow's series lose digits, or give 0"),
    ("Sparse* SerializeSparse SerializeManySparse DeserializeManySparse DeserializeSparse AddSparse* AddMany* TakeMany*", "*", "", SPARSE),
    ("Ragged*", "ours refuses", "", "row partitions that contradict each other are refused here; TensorFlow fills with what the memory holds"),
    ("ResourceApply* Apply* ResourceSparseApply* SparseApply*", "ours refuses", "shape", MISFIT),
    ("*Scatter*", "ours refuses", "do not fit indices", MISFIT),
    ("ScatterNd", "ours accepts", "empty output shape", "TensorFlow scatters nothing into a scalar"),
    ("Reverse", "ours refuses", "", "TensorFlow does not look at the flags of a scalar"),
    ("StridedSliceAssign", "ours refuses", "does not fit the slice", MISFIT),
    ("StringNGrams", "values", "b'a'", "no row splits at all: TensorFlow gives what its memory holds"),
    ("StringNGrams", "values", "object[0]", "no row splits at all: TensorFlow gives what its memory holds"),
    ("LRN", "values", "'alpha': '000080bf'", "a negative alpha: one less a sum of squares cancels"),
    ("TopK*", "values", "'sorted': False", "unsorted: each in its own order"),
    ("TopK*", "values", "special_values", "where NaN stands among the largest depends on TensorFlow's heap"),
    ("FixedUnigramCandidateSampler", "ours refuses", "num_reserved_ids", "fewer than no reserved ids"),
    ("Conv", "code", "Grouped/Depthwise", CODES),
    ("Conv2D", "ours refuses", "do not divide", "TensorFlow looks at channels where there is something to compute"),
    ("Conv2DBackprop* Conv3D*", "ours accepts", "dilat", "TensorFlow's CPU kernels know no dilations there"),
    ("Conv2DBackpropInput", "code", "only supports NHWC", CODES),
    ("Dilation2D*", "ours refuses", "rates must be positive", "rates of 0: TensorFlow looks at one place again and again"),
    ("EncodeJpeg", "ours refuses", "densities", "densities beyond 16 bits: TensorFlow writes their low bits"),
    ("ExtractGlimpse*", "values", "'noise': 'gaussian'", "noise is drawn from a stream that nothing names"),
    ("Fractional*Pool", "values", "'seed': 0", "seeds of 0 are left to chance"),
    ("ImageProjectiveTransform*", "ours refuses", "Invalid", "TensorFlow logs a word that it does not know, and goes on"),
    ("QuantizeAndDequantizeV*", "ours refuses", "num_bits is out of range: 1", "integers of one bit"),
    ("QuantizedMaxPool", "code", "ksize", CODES),
    ("StatefulRandomBinomial", "values", "output 1", "TensorFlow leaves the state as it was, at times"),
    ("Fingerprint", "values", "rank+one_size", "texts without columns: TensorFlow gives memory that nobody wrote"),
    ("_FusedBatchNormEx", "*", "Missing 0-th output", "TensorFlow's kernel is for GPUs"),
]


def reason(op, kind, text):
    for ops, kinds, words, why in ROWS:
        if kinds != "*" and kind not in kinds.split(","):
            continue
        told = all(word in text for word in ([words] if isinstance(words, str) else words))
        if told and any(fnmatch.fnmatchcase(op, pattern) for pattern in ops.split()):
            return why
    return None
