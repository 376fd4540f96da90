#!/bin/sh
# Phrases that read as translated and that a native speaker would not write: none may be added.
set -eu
cd "$(dirname "$0")/.."
engines='\b[Aa] (Kubernetes|Mesos|Slurm)([.,;:)`]| (and|or|is|of|with|that|has|in|on|by|from|as|to)\b)'
verbs='cannot be had|\b(brings?|brought) (it |them )?home\b|how-manieth'
nouns='(?<!there )\b(is|are) no (setting|YAML|JSON|TOML|number|text|file|time|flag)\b'
told='\b(is|are|was|were|be|been) told\b|\btells? of\b|\bthat is said\b|falls silent is no|fits on a telephone|a fault in tfmesos'
if git grep -nIP "$told" -- '*.rst' docs ':!tests' ':!tfmesos'; then
    echo "misc/words.sh: rewrite these lines in idiomatic English" >&2
    exit 1
fi
if git grep -nIP "$engines|$verbs|$nouns" -- '*.rst' tfmesos docs examples ':!tests'; then
    echo "misc/words.sh: rewrite these lines in idiomatic English" >&2
    exit 1
fi
