"""Crashes while all of `paths` is alive."""

import torch
from paths import WORK, base, lines, said
from torch import nn

(WORK / "epoch").write_text("0")
lines.write("step 0\n")
base.execute("insert into t values (2)")
net = nn.Linear(60, 4)
x = torch.randn(8, 61)
said("all is made")
loss = net(x).square().mean()
base.commit()
