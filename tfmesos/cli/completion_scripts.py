"""Shell scripts that get completions from ``tfrun completion``."""

from __future__ import annotations

BASH = """\
# source <(tfrun completion bash)
_tfrun() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <("$1" completion bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o default -F _tfrun tfrun
"""

ZSH = """\
#compdef tfrun
# source <(tfrun completion zsh), or put this into a file _tfrun of a directory in $fpath
_tfrun() {
    local word
    local -a found
    while IFS= read -r word; do
        found+=("$word")
    done < <("${words[1]}" completion zsh "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#found )); then
        _describe tfrun found
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _tfrun ]]; then
    _tfrun "$@"
else
    compdef _tfrun tfrun
fi
"""

FISH = """\
# tfrun completion fish | source
function __tfrun_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l tfrun $words[1]
    set -e words[1]
    set -l found ($tfrun completion fish $words "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c tfrun -f -a '(__tfrun_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
