"""`explain completion SHELL`: a script that completes commands, their options and rules in bash, zsh or fish."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections.abc import Iterator

from explainer.cli import COMMANDS, options

MORE = """\
bash: explain completion bash > ~/.local/share/bash-completion/completions/explain
zsh:  explain completion zsh >> ~/.zshrc
fish: explain completion fish > ~/.config/fish/completions/explain.fish"""
_BASH = """\
_explain() {
    local word="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" words
    case "$command" in
%(cases)s
        *) words="%(options)s" ;;
    esac
    [ "$command" = rule ] && words="$words $(explain completion rules 2>/dev/null)"
    [ "$COMP_CWORD" -eq 1 ] && words="%(commands)s %(options)s"
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}
complete -o filenames -F _explain explain
"""
_ZSH = "autoload -Uz compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def main(arguments: list[str]) -> int:
    """Print the script for a shell; `rules` prints the ids that the scripts complete."""
    to = options.parser("explain completion", "Prints a script that completes the words of `explain`.", MORE)
    to.add_argument("shell", choices=("bash", "zsh", "fish", "rules"), help="`rules`: the ids of rules and symptoms")
    shell = to.parse_args(arguments).shell
    if shell == "rules":
        from explainer.catalogue import load

        catalogue = load()
        print("\n".join(sorted([*catalogue.rules, *catalogue.symptoms])))
    else:
        print("\n".join(_fish()) if shell == "fish" else (_ZSH if shell == "zsh" else "") + _bash(), end="")
    return 0


def _bash() -> str:
    cases = "\n".join(f'        {name}) words="{" ".join(_options(name))}" ;;' for name in COMMANDS)
    return _BASH % {"cases": cases, "commands": " ".join(COMMANDS), "options": " ".join(_options("files"))}


def _fish() -> Iterator[str]:
    for name, about in COMMANDS.items():
        yield f"complete -c explain -n __fish_use_subcommand -a {name} -d '{about}'"
        for option in _options(name):
            yield f"complete -c explain -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
    for option in _options("files"):
        yield f"complete -c explain -n __fish_use_subcommand -l {option.removeprefix('--')}"
    yield "complete -c explain -n '__fish_seen_subcommand_from rule' -f -a '(explain completion rules)'"
    yield ""


def _options(command: str) -> list[str]:
    """The options of a command, as its help lists them."""
    if command == "completion":
        return ["--help"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        importlib.import_module(f"explainer.cli.{command}").main(["-h"])
    return sorted(set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", said.getvalue(), re.M)))
