#!/bin/sh
# Phrases that read as translated and that a native speaker would not write: none may be added.
set -eu
cd "$(dirname "$0")/.."
found=0

# forbid PATTERN PATH...: a Perl expression that no line of these paths may match.
forbid() {
    pattern=$1
    shift
    if git grep -nIP "$pattern" -- "$@" ':!misc/words.sh' ':!*.svg' ':!*.json'; then
        found=1
    fi
}

after='([.,;:)`"]| (and|or|is|of|with|that|has|in|on|by|from|as|to|enforces|newer)\b)'
quantity='longer|more|less|later|bigger|larger|newer'
everywhere='tfmesos docs examples bench docker misc .github *.rst'

# shellcheck disable=SC2086  # several paths
{
    forbid "\\b[Aa] (Kubernetes|Mesos|Slurm)$after" $everywhere
    forbid 'cannot be had|\b(brings?|brought) (\w+ )?home\b|how-manieth|\bfor want of\b' $everywhere
    forbid "(?<![Tt]here )\\b(is|are) no (?!$quantity)\\w" $everywhere
    forbid '\b(is|are|was|were|be|been) told\b(?! apart)|\btells of\b' $everywhere
    forbid 'that is said|falls silent is no|fits on a telephone|a fault in tfmesos' $everywhere
    forbid '\b(has|have) no meaning here\b|cannot be said in|makes? no sense|in vain\b' $everywhere
    forbid '\bcome home\b|\bcame home\b|somebody who has gone|without end\b' $everywhere
    forbid '\bfor ever\b|to be had\b|\bfault of ours\b|launcher before this one' $everywhere
    forbid 'stands? behind the|whose success is that|nearest right|\bis said\b' $everywhere
}
if [ "$found" = 1 ]; then
    echo "misc/words.sh: rewrite these lines in idiomatic English" >&2
    exit 1
fi
