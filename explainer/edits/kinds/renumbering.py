"""The edit that gives the labels of chosen classes their positions among these: 0 for the first, 1 for the next."""

from __future__ import annotations

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError
from explainer.edits.place import Place, as_primary, replaced_each

#: How a label, or many in a tensor or array, is made its position among the classes `kept`.
_HOW = {
    "tensor": "({labels}[..., None] == {kept}).int().argmax(-1)",
    "array": "({labels}[..., None] == {kept}).argmax(-1)",
    "number": "{kept}.index({labels})",
    "member": "sorted({kept}).index({labels})",
}
_MAKERS = {"tensor": ("torch.", "torch.tensor({})"), "array": ("np.", "np.array({})")}


def renumber(each: tuple[Place, ...], classes: str, how: str) -> tuple[Edit, ...]:
    """`labels[mask]` -> `(labels[mask][..., None] == kept).int().argmax(-1)`, `y` -> `kept.index(y)`.

    `classes` is the source of those that were kept, `how` what the labels are: tensor, array, number or member.
    """
    if how not in _HOW:
        raise EditError(f"labels are not held as {how}")
    prefix, made = _MAKERS.get(how, ("", ""))
    named = made.format(classes) if prefix and not classes.startswith(prefix) else classes
    return replaced_each(each, lambda one: _HOW[how].format(labels=as_primary(one), kept=named))
