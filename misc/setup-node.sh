#!/usr/bin/env bash
# Makes this machine a node of a Mesos (or ClusterD) cluster that runs tfmesos's tasks in images.
# It takes the place of TFMesos's setup-aws-g2.sh. Mesos or ClusterD itself must be installed.
set -euo pipefail

usage() {
    cat <<'END'
usage: setup-node.sh secrets [--secrets DIR]
       setup-node.sh master --zk zk://HOSTS/PATH --ip ADDRESS [--quorum N] [options]
       setup-node.sh agent --master ADDRESS --ip ADDRESS [options]

Masters, agents and frameworks authenticate themselves. "secrets" makes their credentials, once for
a cluster; copy them to DIR of the nodes and users that need them, and to nobody else:
  credentials.json   to each master
  agent.json, agent-http.json   to each agent
  tfmesos            to the users: tfrun --principal tfmesos --secret-file DIR/tfmesos
The first master makes them if there are none. Whoever can reach an agent can read its sandboxes.

  --master ADDRESS   host:port, or zk://host1,host2/mesos
  --ip ADDRESS       of this machine: it listens there and nowhere else
  --secrets DIR      where the credentials are (/etc/mesos/secrets)
  --zk URL           where the masters elect their leader
  --quorum N         more than half of the masters (1)
  --gpu mesos        give GPUs to tasks of the Mesos containerizer (tfrun -C MESOS)
  --gpu docker       name the GPUs, for tasks of the Docker containerizer (tfrun -C DOCKER)
  --attributes TEXT  of the agent, such as 'rack:r1;zone:a'
  --work-dir DIR     sandboxes, images and state (/var/lib/mesos)
  --dry-run          show what would be done, do nothing
END
}

fail() {
    echo "setup-node.sh: $*" >&2
    exit 2
}

role=${1:-}
case $role in
    secrets | agent | master) shift ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
esac

master='' zk='' ip='' quorum=1 gpu='' attributes='' dry_run=''
work_dir=/var/lib/mesos secrets=/etc/mesos/secrets
while (($#)); do
    case $1 in
        --dry-run) dry_run=yes; shift; continue ;;
        -h | --help) usage; exit ;;
        --master | --zk | --ip | --secrets | --quorum | --gpu | --attributes | --work-dir) ;;
        *) fail "unknown option: $1 (see --help)" ;;
    esac
    (($# > 1)) || fail "$1 needs a value"
    case $1 in
        --master) master=$2 ;;
        --zk) zk=$2 ;;
        --ip) ip=$2 ;;
        --secrets) secrets=$2 ;;
        --quorum) quorum=$2 ;;
        --gpu) gpu=$2 ;;
        --attributes) attributes=$2 ;;
        --work-dir) work_dir=$2 ;;
    esac
    shift 2
done

[[ $role != agent || $master ]] || fail "an agent needs --master"
[[ $role != master || $zk = zk://*/* ]] || fail "a master needs --zk zk://HOSTS/PATH, got '$zk'"
[[ $role = secrets || $ip =~ ^[0-9a-fA-F:.]+$ ]] || fail "--ip must be an address of this machine, got '$ip'"
[[ $secrets = /* ]] || fail "--secrets must be an absolute path, got '$secrets'"
[[ $quorum =~ ^[1-9][0-9]*$ ]] || fail "--quorum must be a whole number above 0, got '$quorum'"
[[ $gpu = '' || $gpu = mesos || $gpu = docker ]] || fail "--gpu must be mesos or docker, got '$gpu'"
[[ $work_dir = /* ]] || fail "--work-dir must be an absolute path, got '$work_dir'"
[[ $dry_run || $role = secrets || $EUID = 0 ]] || fail "needs root; --dry-run shows what it would do"

# Runs a command, or shows it.
run() {
    if [[ $dry_run ]]; then
        printf '+'
        printf ' %q' "$@"
        echo
    else
        "$@"
    fi
}

write() {
    local file=$1
    if [[ $dry_run ]]; then
        echo "+ write $file:"
        sed 's/^/    /'
    else
        mkdir -p "$(dirname "$file")"
        cat >"$file"
    fi
}

# The first of these programs there is; in a dry run any will do.
program() {
    local name
    for name in "$@"; do
        command -v "$name" && return
    done
    [[ $dry_run ]] || fail "none of these is installed: $*"
    echo "/usr/sbin/$1"
}

new_secret() {
    head --bytes=32 /dev/urandom | od --address-radix=n --format=x1 | tr --delete ' \n'
}

# Writes standard input to a file that only its owner can read.
keep() {
    if [[ $dry_run ]]; then
        echo "+ write $1, for its owner only"
        cat >/dev/null
    else
        (umask 077 && cat >"$1")
    fi
}

# The credentials of agents and frameworks, for the masters and for themselves.
make_secrets() {
    local agent framework
    [[ ! -e $secrets/credentials.json ]] || fail "there are credentials already: $secrets/credentials.json"
    agent="{\"principal\": \"agent\", \"secret\": \"$(new_secret)\"}"
    framework=$(new_secret)
    run install --directory --mode=700 "$secrets"
    echo "$framework" | keep "$secrets/tfmesos"
    echo "$agent" | keep "$secrets/agent.json"
    echo "{\"credentials\": [$agent]}" | keep "$secrets/agent-http.json"
    echo "{\"credentials\": [$agent, {\"principal\": \"tfmesos\", \"secret\": \"$framework\"}]}" |
        keep "$secrets/credentials.json"
}

gpu_names() {
    if [[ $dry_run ]] && ! command -v nvidia-smi >/dev/null; then
        echo "UUID,..."
        return
    fi
    nvidia-smi --query-gpu=uuid --format=csv,noheader | paste --serial --delimiters=, ||
        fail "--gpu docker needs nvidia-smi: install the driver first"
}

agent_flags() {
    # Images of both containerizers; host volumes; limits for cpus and memory that are kept.
    local isolation=filesystem/linux,docker/runtime,volume/host_path,cgroups/cpu,cgroups/mem
    [[ $gpu != mesos ]] || isolation+=,cgroups/devices,gpu/nvidia
    echo "--master=$master"
    echo "--ip=$ip"
    echo "--credential=$secrets/agent.json"
    # Who may change anything must be known. Sandboxes are open: tfrun reads the end of a failed task there.
    echo "--authenticate_http_readwrite=true"
    echo "--http_credentials=$secrets/agent-http.json"
    echo "--work_dir=$work_dir"
    echo "--containerizers=docker,mesos"
    echo "--image_providers=docker"
    echo "--isolation=$isolation"
    echo "--executor_registration_timeout=10mins" # a big image takes its time
    [[ ! $attributes ]] || echo "--attributes=$attributes"
    # By name, so that tfmesos can keep tasks apart; the isolator gpu/nvidia would hide them.
    [[ $gpu != docker ]] || echo "--resources=gpus:{$(gpu_names)}"
}

master_flags() {
    echo "--zk=$zk"
    echo "--ip=$ip"
    echo "--credentials=$secrets/credentials.json"
    echo "--authenticate_agents=true"
    echo "--authenticate_frameworks=true"
    echo "--authenticate_http_frameworks=true"
    echo "--http_framework_authenticators=basic"
    echo "--authenticate_http_readonly=true"
    echo "--authenticate_http_readwrite=true"
    echo "--quorum=$quorum"
    echo "--work_dir=$work_dir"
}

unit() {
    local command=$1 flag
    shift
    cat <<END
[Unit]
Description=Mesos $role
After=network-online.target docker.service
Wants=network-online.target

[Service]
Restart=always
RestartSec=5
# Tasks outlive a restart of their agent.
KillMode=process
Delegate=true
LimitNOFILE=65536
END
    printf 'ExecStart=%s' "$command"
    for flag in "$@"; do
        printf ' \\\n    "%s"' "${flag//\"/\\\"}"
    done
    printf '\n\n[Install]\nWantedBy=multi-user.target\n'
}

if [[ $role = secrets ]]; then
    make_secrets
    exit
fi

if [[ $role = agent ]]; then
    for file in agent.json agent-http.json; do
        [[ $dry_run || -e $secrets/$file ]] || fail "$secrets/$file is missing: copy it from a master (see --help)"
    done
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
        echo "setup-node.sh: this machine has cgroups v2 only: Apache Mesos 1.11 needs v1, ClusterD does not" >&2
    fi
    command -v docker >/dev/null || run apt-get install --yes docker.io
    if [[ $gpu ]]; then
        [[ $dry_run ]] || command -v nvidia-smi >/dev/null || fail "--gpu needs nvidia-smi: install the driver first"
    fi
    if [[ $gpu = docker ]]; then
        command -v nvidia-ctk >/dev/null || run apt-get install --yes nvidia-container-toolkit
        run nvidia-ctk runtime configure --runtime=docker
        run systemctl restart docker
    fi
    names=(mesos-agent mesos-slave clusterd-agent)
    flags=$(agent_flags)
else
    [[ -e $secrets/credentials.json ]] || make_secrets
    names=(mesos-master clusterd-master)
    flags=$(master_flags)
fi

command=$(program "${names[@]}")
mapfile -t flags <<<"$flags"
unit "$command" "${flags[@]}" | write "/etc/systemd/system/mesos-$role.service"
run mkdir -p "$work_dir"
run systemctl daemon-reload
run systemctl enable --now "mesos-$role"
