"""Wrong use of modules, parameters, containers, hooks and initialisation."""

PREAMBLE = """
class Bare(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 2)
class Early(nn.Module):
    def __init__(self):
        self.scale = nn.Parameter(torch.ones(1))
class Buffered(nn.Module):
    def __init__(self):
        self.register_buffer("mean", torch.zeros(1))
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(6, width)
    def forward(self, x):
        return self.fc(x)
class Silent(nn.Module):
    pass
model = Net()
"""

SNIPPETS = (
    "Bare()", "Early()", "Buffered()", "Silent()(x)", "model.head(x)", "model.fc.weigth", "model()", "model(x, y)",
    "model(input=x)", "Net(width='a')", "model.fc = torch.randn(3)",
    "model.fc.weight = torch.randn(4, 6)", "model.fc.weight = 'a'", "model.fc.bias = net",
    "model.register_parameter('fc', nn.Parameter(x))", "model.register_parameter('a.b', nn.Parameter(x))",
    "model.register_parameter('', nn.Parameter(x))", "model.register_parameter('w', x)",
    "model.register_parameter('w', x.requires_grad_() * 2)", "model.register_parameter(3, nn.Parameter(x))",
    "model.register_buffer('fc', x)", "model.register_buffer('a.b', x)", "model.register_buffer('m', [1])",
    "model.register_buffer('', x)", "model.register_buffer(1, x)", "model.add_module('fc2', x)",
    "model.add_module('a.b', net)", "model.add_module('', net)", "model.add_module(1, net)",
    "model.add_module('forward', net)", "model.get_submodule('fc.inner')", "model.get_submodule('fc.weight')",
    "model.get_parameter('fc.nope')", "model.get_parameter('fc.in_features')", "model.get_buffer('fc.weight')",
    "model.get_buffer('fc.nope')", "model.set_submodule('', net)", "model.set_submodule('a.b.c', net)",
    "model.set_submodule('nope', net, strict=True)", "model.to(torch.int64)", "model.to('gpu')",
    "model.to(1, 2, 3, 4)", "model.type('a')", "model.train('yes')", "model.requires_grad_('a')",
    "model.load_state_dict(None)", "model.load_state_dict('model.pt')", "model.load_state_dict({'fc.weight': x})",
    "model.load_state_dict({'module.fc.weight': x, 'module.fc.bias': x})",
    "model.load_state_dict({'fc.weight': [1, 2], 'fc.bias': 3})", "model.load_state_dict(model)",
    "model.load_state_dict(nn.Linear(6, 4).state_dict())", "model[0]", "nn.Parameter(1.0)",
    "nn.Parameter([1, 2])", "nn.Parameter(labels)", "nn.Parameter(None).backward()",
    "nn.ParameterList([1, net])[0].grad", "nn.ParameterList(3)", "nn.ParameterList([nn.Parameter(x)])[4]",
    "nn.ParameterList([nn.Parameter(x)]).extend(3)", "nn.ParameterList([nn.Parameter(x)])(x)",
    "nn.ParameterDict({'a': nn.Parameter(x)})['b']", "nn.ParameterDict([1])", "nn.ParameterDict([(1, 2, 3)])",
    "nn.ParameterDict({'a': nn.Parameter(x)})(x)", "nn.ParameterDict(3)", "nn.ModuleList(net)",
    "nn.ModuleList([net])(x)", "nn.ModuleList([net])[3]", "nn.ModuleList([net]).extend(3)",
    "nn.ModuleList([net]).append(x)", "nn.ModuleList([net, x])", "nn.ModuleDict({'a': x})",
    "nn.ModuleDict({'a': net})(x)", "nn.ModuleDict({1: net})",
    "nn.ModuleDict([net])", "nn.ModuleDict({'a.b': net})", "nn.ModuleDict({'keys': net})", "nn.ModuleDict(3)",
    "nn.ModuleDict([(net,)])", "nn.Sequential([net, net])", "nn.Sequential(net, torch.relu)",
    "nn.Sequential(net)(x, x)", "nn.Sequential(net, nn.ReLU)(x)", "nn.Sequential(nn.LSTM(6, 3), net)(x)",
    "nn.Sequential(net).append(3)", "nn.Sequential(net) + 3", "nn.Sequential(net) * 0", "nn.Sequential(net) * 'a'",
    "nn.Sequential(net).insert(9, net)", "nn.Sequential(net).insert(0, 3)", "nn.Sequential(net).pop(4)",
    "nn.LazyLinear(3).weight.shape", "nn.LazyLinear(3).weight + 1", "nn.LazyConv2d(3, 3)(x[0])",
    "nn.LazyBatchNorm2d()(x)", "nn.LazyLinear(3).weight.sum()", "import copy; copy.deepcopy(nn.Linear(6, 3)(x))",
    "sum(p.numel() for p in nn.LazyLinear(3).parameters())",
    "net.register_full_backward_hook(lambda m, a, b: (x, x)); net(x.requires_grad_()).sum().backward()",
    "net.register_full_backward_hook(lambda m, a, b: None); net.register_backward_hook(lambda m, a, b: None)",
    "net.register_backward_hook(lambda m, a, b: None); net.register_full_backward_hook(lambda m, a, b: None)",
    "net.register_full_backward_hook(lambda m, a, b: None); z = net(x.requires_grad_()); z += 1",
    "net.apply(lambda m: nn.init.xavier_uniform_(m.weight[0]))", "nn.init.xavier_uniform_(net.bias)",
    "nn.init.kaiming_normal_(net.bias)", "nn.init.kaiming_normal_(net.weight, mode='fan')",
    "nn.init.kaiming_normal_(net.weight, nonlinearity='gelu')", "nn.init.orthogonal_(net.bias)",
    "nn.init.eye_(images)", "nn.init.dirac_(x)", "nn.init.sparse_(images, 0.1)", "nn.init.calculate_gain('nope')",
    "nn.init.calculate_gain('leaky_relu', 'a')", "nn.init.normal_(net.weight, std=-1)",
    "nn.init.uniform_(net.weight, 1, 0)", "nn.init.xavier_uniform(net.bias)",
    "nn.init.constant_(net.weight, 'a')",
    "nn.init.dirac_(torch.zeros(3, 3, 3), groups=2)", "nn.init.xavier_uniform_(net)", "nn.init.nope_(net.weight)",
)  # fmt: skip
