"""Wrong use of gradient clipping, gradient scaling and automatic mixed precision."""

import preambles

PREAMBLE = preambles.STEPS

SNIPPETS = (
    "nn.utils.clip_grad_norm_(net.parameters())",
    "net(x).sum().backward(); net.weight.grad[0] = float('nan'); nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)",
    "nn.utils.clip_grads(net.parameters(), 1.0)", "nn.utils.clip_grad_norm_([1, 2], 1.0)",
    "nn.utils.clip_grad_value_(net.parameters())", "scaler = torch.amp.GradScaler('cpu'); scaler.step(sgd)",
    "scaler = torch.amp.GradScaler('cpu'); scaler.scale(net(x).sum()).backward(); scaler.unscale_(sgd); scaler.unscale_(sgd)",
    "scaler = torch.amp.GradScaler('cpu'); scaler.update()",
    "scaler = torch.amp.GradScaler('cpu'); scaler.scale(net(x).sum()).backward(); scaler.step(sgd); scaler.step(sgd)",
    "scaler = torch.amp.GradScaler('cpu'); scaler.scale(net(x).sum()).backward(); scaler.step(sgd); scaler.unscale_(sgd)",
    "scaler = torch.amp.GradScaler('cpu'); scaler.scale(net(x).sum()).backward(); scaler.step(sgd, closure=3)",
    "torch.amp.GradScaler('cpu', growth_factor=0.5)", "torch.amp.GradScaler('cpu', backoff_factor=2.0)",
    "torch.amp.GradScaler('cpu').load_state_dict({})", "torch.amp.GradScaler('cpu').update(new_scale=3)",
    "scaler = torch.amp.GradScaler('cpu'); scaler.scale(net(x).sum()); scaler.update(new_scale='a')",
    "n = nn.Linear(6, 3).half(); o = optim.SGD(n.parameters(), 0.1); s = torch.amp.GradScaler('cpu'); s.scale(n(x.half()).sum()).backward(); s.unscale_(o)",
    "scaler = torch.amp.GradScaler('cpu'); scaler.unscale_(sgd); scaler.step(sgd); scaler.update()",
    "scaler = torch.amp.GradScaler('cpu'); scaler.scale(net(x).sum()); scaler.unscale_(sgd); scaler.step(sgd)",
    "torch.autocast()", "torch.autocast('gpu')", "torch.autocast(torch.float16)",
    "torch.autocast(device_type=torch.device('cpu')).__enter__()",
    "torch.amp.autocast('cpu', enable=True)", "torch.amp.custom_fwd(lambda x: x, device_type=3)",
    "with torch.autocast('cpu', dtype=torch.bfloat16): F.binary_cross_entropy(net(x).sigmoid(), net(x))",
    "with torch.autocast('cpu', dtype=torch.bfloat16): net(x).numpy()",
    "with torch.autocast('cpu', dtype=torch.bfloat16): net(x).detach().numpy()",
    "with torch.autocast('cpu', dtype=torch.bfloat16): z = torch.zeros(4, 3); z[labels] = net(x)",
    "with torch.autocast('cpu', dtype=torch.bfloat16): torch.zeros(4, 3).index_add_(0, labels, net(x))",
    "with torch.autocast('cpu', dtype=torch.bfloat16): torch.zeros(4, 3).scatter_(0, labels[:, None], net(x))",
    "with torch.autocast('cpu', dtype=torch.bfloat16): torch.zeros(3, 4).addmm_(net(x).T, x[:, :4])", "net.half()(x)",
    "net.bfloat16()(x)", "net(x.half())", "net.half()(x.half()).backward()",
    "net.half()(x.half()).sum().backward(); net.half().weight.grad.inverse()",
)  # fmt: skip
