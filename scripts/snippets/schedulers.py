"""Wrong use of schedulers of the learning rate and of averaged weights."""

import preambles

PREAMBLE = preambles.STEPS

SNIPPETS = (
    "torch.optim.lr_schedule", "torch.optimizer.SGD", "sched.StepLR(sgd)", "sched.StepLR(net, 1)",
    "sched.StepLR(net.parameters(), 1)", "sched.StepLR(sgd, 'a').step()", "sched.StepLR(sgd, 3, gama=0.1)",
    "sched.StepLR(sgd, 3, last_epoch=4)", "sched.StepLR(optim.SGD, 1)", "sched.MultiStepLR(sgd)",
    "sched.LambdaLR(sgd, [lambda e: 1, lambda e: 2])", "sched.LambdaLR(sgd)", "sched.MultiplicativeLR(sgd, [])",
    "sched.ExponentialLR(sgd)", "sched.CosineAnnealingLR(sgd)", "sched.CosineAnnealingLR(sgd, 'a').step()",
    "sched.CosineAnnealingWarmRestarts(sgd, 0)", "sched.CosineAnnealingWarmRestarts(sgd, 5, T_mult=0)",
    "sched.CosineAnnealingWarmRestarts(sgd, 5).step(-1)", "sched.CosineAnnealingWarmRestarts(sgd, 5.0)",
    "sched.CosineAnnealingWarmRestarts(sgd, 5, T_mult=1.5)", "sched.OneCycleLR(sgd, 0.1)",
    "sched.OneCycleLR(sgd, 0.1, total_steps=0)", "sched.OneCycleLR(sgd, 0.1, total_steps=2.5)",
    "sched.OneCycleLR(sgd, 0.1, epochs=0, steps_per_epoch=1)",
    "sched.OneCycleLR(sgd, 0.1, epochs=1, steps_per_epoch=0)",
    "sched.OneCycleLR(sgd, 0.1, total_steps=5, pct_start=2)",
    "sched.OneCycleLR(sgd, 0.1, total_steps=5, anneal_strategy='sin')",
    "sched.OneCycleLR(sgd, [0.1, 0.2], total_steps=5)", "sched.OneCycleLR(sgd, 0.1, total_steps=2).step(3)",
    's = sched.OneCycleLR(sgd, 0.1, total_steps=2)\nfor _ in range(9): s.step()',
    "sched.OneCycleLR(optim.Adagrad([net.weight]), 0.1, total_steps=5)", "sched.OneCycleLR(sgd)",
    "sched.CyclicLR(optim.Adagrad([net.weight]), 0.1, 0.2)", "sched.CyclicLR(sgd, 0.1, 0.2, mode='a')",
    "sched.CyclicLR(sgd, [0.1, 0.2], 0.3)", "sched.CyclicLR(sgd, 0.1)", "sched.ReduceLROnPlateau(sgd).step()",
    "sched.ReduceLROnPlateau(sgd, mode='minimum')", "sched.ReduceLROnPlateau(sgd, threshold_mode='a')",
    "sched.ReduceLROnPlateau(sgd, factor=1.5)", "sched.ReduceLROnPlateau(net)",
    "sched.ReduceLROnPlateau(sgd, min_lr=[0.1, 0.2])", "sched.ReduceLROnPlateau(sgd, verbose=True, verbos=1)",
    "sched.ReduceLROnPlateau(sgd).step(x)", "sched.LinearLR(sgd, start_factor=2)",
    "sched.LinearLR(sgd, end_factor=2)", "sched.LinearLR(sgd, start_factor=0)", "sched.ConstantLR(sgd, factor=2)",
    "sched.PolynomialLR(sgd, total_iters='a').step()", "sched.SequentialLR(sgd, [], [])",
    "sched.SequentialLR(sgd, [sched.ConstantLR(sgd), sched.ConstantLR(sgd)], [1, 2])",
    "sched.SequentialLR(sgd, [sched.ConstantLR(adam), sched.ConstantLR(sgd)], [1])",
    "sched.SequentialLR(sgd, [sched.ReduceLROnPlateau(sgd), sched.ConstantLR(sgd)], [1])",
    "sched.ChainedScheduler([])", "sched.ChainedScheduler([sched.ConstantLR(adam), sched.ConstantLR(sgd)])",
    "sched.ChainedScheduler([sched.ReduceLROnPlateau(sgd)], optimizer=adam)",
    "sched.StepLR(sgd, 1).load_state_dict(None)", "sched.WarmupLR(sgd)",
    "sched.StepLR(sgd, 1, verbose=True)",
    "sched.ReduceLROnPlateau(sgd, verbose=True)", "swa_utils.SWALR(sgd, 0.1, anneal_strategy='a')",
    "swa_utils.SWALR(sgd, [0.1, 0.2])", "swa_utils.SWALR(sgd, 0.1, anneal_epochs=-1)", "swa_utils.SWALR(sgd)",
    "swa_utils.AveragedModel(net, multi_avg_fn=1, avg_fn=2)", "swa_utils.AveragedModel(net).update_parameters(x)",
    "swa_utils.get_ema_avg_fn(2)", "swa_utils.get_ema_multi_avg_fn(-1)", "swa_utils.AveragedModel(net)(y)",
)  # fmt: skip
