"""Wrong use of storages, DLPack, buffers and NumPy arrays."""

import preambles

PREAMBLE = preambles.FILES

SNIPPETS = (
    "torch.UntypedStorage('a')", "torch.UntypedStorage(-1)", "torch.UntypedStorage(4)[9]",
    "torch.UntypedStorage(4)['a']", "torch.UntypedStorage(4).resize_(-1)", "torch.FloatStorage(4)[9]",
    "torch.FloatStorage('a')", "torch.FloatStorage(4, 5, 6)",
    "torch.TypedStorage(4, wrap_storage=3)", "torch.TypedStorage(4, dtype=3)",
    "torch.FloatStorage.from_buffer(b'abc', 'native')", "torch.FloatStorage.from_buffer(b'abc')",
    "torch.UntypedStorage.from_file('nowhere', False, 4)",
    "x.untyped_storage().copy_(3)", "torch.from_numpy(numpy.ones(3)).resize_(9)",
    "x.set_(torch.LongStorage(3))", "x.as_strided((9, 9), (9, 9))", "x.as_strided((2,), (-1,))",
    "x.as_strided((2,), (1, 2))", "x.as_strided((-2,), (1,))", "torch.frombuffer(b'', dtype=torch.int8)",
    "torch.frombuffer(b'abc', dtype=torch.int32)", "torch.frombuffer(bytearray(8), dtype=torch.int32, offset=9)",
    "torch.frombuffer(bytearray(8), dtype=torch.int32, count=9)", "torch.frombuffer(3, dtype=torch.int32)",
    "torch.frombuffer(b'abcd')", "torch.frombuffer(bytearray(8), dtype=torch.int32, count=0)", "torch.from_dlpack(3)",
    "torch.from_dlpack(dlpack.to_dlpack(x.to_sparse()))",
    "c = dlpack.to_dlpack(x); torch.from_dlpack(c); torch.from_dlpack(c)",
    "dlpack.to_dlpack(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8))", "x.__dlpack__(stream='a')",
    "x.__dlpack__(stream=3)", "numpy.from_dlpack(net.weight)", "numpy.from_dlpack(x.to('meta'))",
    "torch.from_dlpack(numpy.array(['a']))", "x.to('meta').__dlpack__()", "x.__dlpack__(dl_device=(3, 4))",
    "numpy.array([net.weight, net.weight])", "numpy.array(x.to('meta'))", "numpy.stack([net(x)])",
    "numpy.add(net(x), 1)", "numpy.ones(3) @ net.weight", "numpy.ones((2, 3)) * net.weight", "x[numpy.array([9])]",
    "x[numpy.array(['a'])]", "torch.tensor(numpy.array([1, 'a']))",
    "torch.tensor(numpy.array([[1, 2], [3]], dtype=object))", "torch.as_tensor(numpy.array([None]))",
    "torch.from_numpy(numpy.float32(3))", "torch.from_numpy(numpy.zeros(3, dtype='U1'))",
    "torch.from_numpy(numpy.zeros(3, dtype='datetime64[s]'))", "torch.from_numpy(numpy.zeros(3, dtype='>f4'))",
    "torch.from_numpy(numpy.zeros((3, 3))[:, ::-1])",
    "torch.from_numpy(numpy.lib.stride_tricks.as_strided(numpy.zeros(30, 'i1'), (2,), (3,)).view('i1')).nope",
    "torch.from_numpy([x.numpy()])", "torch.Tensor(numpy.array(['a']))",
    "torch.FloatTensor(numpy.ones(3, dtype='i8')).nope", "x.numpy().backward()",
    "torch.tensor([numpy.ones(2), numpy.ones(3)])", "torch.stack([numpy.ones(2)])",
    "torch.tensor([[1.0], [2.0, 3.0]])", "torch.zeros(3, dtype=numpy.float32)", "x.to(numpy.float32)",
    "x.astype(numpy.float32)", "torch.ones(3).type(numpy.float32)",
)  # fmt: skip
