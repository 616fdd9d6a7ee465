"""Tensors made from what cannot be one, and NumPy arrays beside tensors."""

SNIPPETS = (
    "x.requires_grad_().register_hook(lambda g: g.double().numpy()); x.sum().backward()", "torch.FloatTensor(x, y)",
    "torch.Tensor('a')", "torch.tensor()", "torch.tensor(None)", "torch.tensor([1, None])", "torch.tensor({'a': 1})",
    "torch.tensor(object())", "torch.tensor([x, y])", "torch.tensor([1, 'a'])",
    "torch.tensor(1, dtype='float')", "torch.tensor(2 ** 70)",
    "torch.tensor([300], dtype=torch.uint8).item() + torch.nope", "torch.tensor(range(3), device='gpu')",
    "torch.tensor(iter([1]))", "torch.tensor(map(int, '12'))", "torch.tensor({1, 2})", "torch.as_tensor('a')",
    "torch.as_tensor([x, y])", "torch.from_numpy(x)", "torch.from_numpy(3)",
    "import numpy; torch.from_numpy(numpy.array(['a']))", "import numpy; torch.tensor(numpy.array([1, None]))",
    "import numpy; torch.from_numpy(numpy.arange(4)[::-1])", "import numpy; torch.tensor(numpy.array([{'a': 1}]))",
    "import numpy; torch.from_numpy(numpy.zeros(2, dtype=[('a', 'i4')]))",
    "import numpy; torch.cat([x, numpy.ones((4, 6))])", "import numpy; torch.matmul(x, numpy.ones((6, 2)))",
    "import numpy; numpy.concatenate([net(x)])", "import numpy; torch.mean(numpy.ones(3))",
    "import numpy; net(numpy.ones((4, 6)))", "import numpy; numpy.array(net.weight)",
    "import numpy; numpy.exp(net.weight)", "import numpy; numpy.asarray(x.bfloat16())", "x.bfloat16().numpy()",
    "x.to_sparse().numpy()", "(x + 1j).conj().numpy()", "torch.nested.nested_tensor([x]).numpy()", "x.asnumpy()",
    "x.to_numpy()", "x.topk(2).numpy()", "x.take(torch.tensor([99]))", "x[torch.tensor([True, False])]",
    "x[torch.tensor([0.0])]", "torch.tensor(3)[0]", "torch.tensor(3)[1:]", "torch.tensor([1, 2])[0][0]",
)  # fmt: skip
