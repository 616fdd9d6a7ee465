"""Wrong use of generators and random numbers."""

SNIPPETS = (
    "torch.Generator('gpu')", "torch.Generator(device='cuda')", "torch.Generator('meta')",
    "torch.Generator().manual_seed('a')", "torch.Generator().manual_seed(2 ** 70)", "torch.Generator().set_state(x)",
    "torch.Generator().set_state(torch.zeros(3, dtype=torch.uint8))", "torch.Generator().set_state('a')",
    "torch.manual_seed(2 ** 65)", "torch.rand(2, generator=3)",
    "torch.randn(2, generator=torch.Generator('cpu'), device='meta').nope", "torch.randperm(4, generator='a')",
    "torch.rand('a')", "torch.rand(-2)", "torch.rand(2.5)", "torch.randn([2, 'a'])", "torch.randint(3)",
    "torch.randint(0, 3)", "torch.randint(3, 0, (2,))", "torch.randint(0.5, 3, (2,))",
    "torch.randint(0, 300, (2,), dtype=torch.uint8)", "torch.randint(0, 3, 2)", "torch.randperm(3.5)",
    "torch.randperm(300, dtype=torch.uint8)", "torch.rand(2, dtype=torch.int64)", "torch.randn(2, dtype=torch.int32)",
    "torch.normal(x, -x.abs())", "torch.normal(x, y)", "torch.normal(labels, 1.0)", "torch.poisson(-x.abs())",
    "torch.poisson(labels)", "torch.binomial(x, y)", "torch.bernoulli(x * 5)", "torch.bernoulli(labels)",
    "x.bernoulli_(2)", "x.uniform_(1, 0)", "x.normal_(0, -1)", "x.exponential_(-1)", "x.geometric_(2)",
    "x.log_normal_(0, -1)", "x.cauchy_(0, -1)", "x.random_(5, 2)", "labels.uniform_()", "labels.normal_()",
    "torch.multinomial(-x, 1)", "torch.multinomial(labels, 1)", "torch.multinomial(x.abs(), 0)",
    "torch.multinomial(images, 1)", "torch.multinomial(x.abs() * float('inf'), 1)",
    "torch.quasirandom.SobolEngine(99999)", "torch.quasirandom.SobolEngine(0)",
    "torch.quasirandom.SobolEngine(2).draw(-1)", "torch.quasirandom.SobolEngine(2).draw_base2(40)",
)  # fmt: skip
