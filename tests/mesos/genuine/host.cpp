// A program that runs the masters and agents inside libmesos 1.11.0 (the _scheduler.so of the
// egg). There are no headers of Mesos here: what is declared below has the names, sizes and
// offsets that this one binary has, and the linker finds the rest.
//
//   mesos-host master                     a master on its own
//   mesos-host candidate zk://HOSTS/PATH  a master that stands for election
//   mesos-host candidate IP:PORT          a master that never leads and redirects there
//   mesos-host agent IP:PORT | zk://...   an agent of that master
//   mesos-containerizer launch            (by that name) the launcher of Mesos's containers
//
// Settings come from MESOS_* and LIBPROCESS_* variables, as with the programs of Mesos.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <unistd.h>

// Types of stout, the library below Mesos. They are not trivial, so that they are returned
// through a hidden pointer, as the binary expects.

template <class T>
struct Option {
  enum State : int { SOME = 0, NONE = 1 };
  State state = NONE;
  union { T value; };
  Option() {}
  Option(const T& some) : state(SOME), value(some) {}
  ~Option() {}
};

struct Duration { long nanoseconds; };

constexpr int IS_ERROR = 0;

template <class T>
struct TryPointer {
  int state;
  T* value;
  int error_state;
  union { std::string message; };
  ~TryPointer() {}
};

struct TryWarnings {
  char warnings[32];
  int error_state;
  union { std::string message; };
  ~TryWarnings() {}
};

using Text = Option<std::string>;

// The parts of Mesos. Objects get more room than they need; their real sizes are smaller.

namespace process {

struct ProcessBase;
struct RateLimiter;
struct UPID {
  char room[512];
  UPID() {}
  ~UPID() {}
};
template <class T>
struct Owned { void* pointers[2] = {nullptr, nullptr}; };

namespace network {
namespace unix { struct Address; }
namespace internal {
template <class Address>
struct Socket { void* pointers[2]; };
}
}

bool initialize(const Text& delegate, const Text& read_write_realm, const Text& read_only_realm);
UPID spawn(ProcessBase* process, bool manage);
bool wait(const UPID& process, const Duration& longest);

}

namespace flags {

struct FlagsBase {
  TryWarnings load(const std::string& prefix);
  TryWarnings load(
      const Text& prefix, int argc, const char* const* argv, bool unknowns, bool duplicates);
};

}

namespace mesos {

struct Authorizer;
struct SecretGenerator;
struct SecretResolver;

namespace allocator { struct Allocator; }

namespace state {
struct State { void* vtable; void* storage; };
struct InMemoryStorage {
  char room[256];
  InMemoryStorage();
};
}

namespace master {
namespace detector {
struct MasterDetector {
  static TryPointer<MasterDetector> create(
      const Text& address, const Text& module, const Option<Duration>& session_timeout);
};
}
namespace contender {
struct MasterContender {
  static TryPointer<MasterContender> create(
      const Text& address, const Text& module, const Option<Duration>& session_timeout);
};
}
}

namespace slave {
struct ResourceEstimator { static TryPointer<ResourceEstimator> create(const Text& module); };
struct QoSController { static TryPointer<QoSController> create(const Text& module); };
}

namespace internal {

struct PendingFutureTracker;
struct Files {
  char room[4096];
  Files(const Text& realm, const Option<Authorizer*>& authorizer);
};

namespace local {
struct Flags {
  char room[16384];
  Flags();
};
process::UPID launch(const Flags& flags, allocator::Allocator* allocator);
}

namespace master {
namespace allocator {
struct DRFSorter;
template <class RoleSorter, class FrameworkSorter>
struct HierarchicalAllocatorProcess;
template <class Process>
struct MesosAllocator {
  char room[256];
  MesosAllocator();
};
}
struct Flags {
  char room[32768];
  Flags();
};
struct Registrar {
  char room[4096];
  Registrar(const Flags& flags, state::State* state, const Text& realm);
};
struct Master {
  char room[65536];
  Master(
      mesos::allocator::Allocator*, Registrar*, Files*,
      mesos::master::contender::MasterContender*, mesos::master::detector::MasterDetector*,
      const Option<Authorizer*>&, const Option<std::shared_ptr<process::RateLimiter>>&,
      const Flags&);
};
}

namespace slave {
struct CSIServer;
struct VolumeGidManager;
struct Flags {
  char room[32768];
  Flags();
};
struct Fetcher {
  char room[4096];
  Fetcher(const Flags& flags);
};
struct GarbageCollector {
  char room[4096];
  GarbageCollector(const std::string& work_dir);
};
struct TaskStatusUpdateManager {
  char room[4096];
  TaskStatusUpdateManager(const Flags& flags);
};
struct Containerizer {
  static TryPointer<Containerizer> create(
      const Flags&, bool local, Fetcher*, GarbageCollector*, SecretResolver*, VolumeGidManager*,
      PendingFutureTracker*, CSIServer*);
};
using AgentSocket = process::network::internal::Socket<process::network::unix::Address>;
struct Slave {
  char room[65536];
  Slave(
      const std::string& name, const Flags&, mesos::master::detector::MasterDetector*,
      Containerizer*, Files*, GarbageCollector*, TaskStatusUpdateManager*,
      mesos::slave::ResourceEstimator*, mesos::slave::QoSController*, SecretGenerator*,
      VolumeGidManager*, PendingFutureTracker*, process::Owned<CSIServer>&&,
      const Option<AgentSocket>&, const Option<Authorizer*>&);
};
struct MesosContainerizerLaunch {
  struct Flags {
    char room[8192];
    Flags();
  };
  void* vtable;
  std::string name;
  char base_flags[0xb8];
  Flags flags;
  flags::FlagsBase* getFlags();
  int execute();
};
}

}
}

// Their tables of virtual functions; the functions begin after two words.
extern "C" char _ZTVN5mesos5state8protobuf5StateE[];
extern "C" char _ZTVN5mesos8internal5slave24MesosContainerizerLaunchE[];
constexpr int FUNCTIONS = 2 * sizeof(void*);

using namespace mesos::internal;

namespace {

const Text NOTHING;
constexpr Duration FOR_EVER{-1'000'000'000};
constexpr Duration SESSION_TIMEOUT{5'000'000'000};

[[noreturn]] void give_up(const char* what, const std::string& why) {
  fprintf(stderr, "mesos-host: %s: %s\n", what, why.c_str());
  _exit(2);
}

template <class T>
T* made(const char* what, TryPointer<T>&& result) {
  if (result.error_state == IS_ERROR) give_up(what, result.message);
  return result.value;
}

void check(const char* what, TryWarnings&& result) {
  if (result.error_state == IS_ERROR) give_up(what, result.message);
}

// A virtual base of *object*. Its offset stands before the table of virtual functions; our
// own declarations do not know it, so that the compiler cannot help.
template <class Base, class Object>
Base* virtual_base(Object* object, int position) {
  char* address = reinterpret_cast<char*>(object);
  long* vtable = *reinterpret_cast<long**>(address);
  return reinterpret_cast<Base*>(address + vtable[position]);
}

template <class Flags>
Flags* flags_from_environment() {
  auto* flags = new Flags();
  check("flags", virtual_base<flags::FlagsBase>(flags, -4)->load("MESOS_"));
  return flags;
}

template <class Actor>
process::UPID spawn(Actor* actor) {
  return process::spawn(virtual_base<process::ProcessBase>(actor, -3), false);
}

Files* new_files() { return new Files(NOTHING, Option<mesos::Authorizer*>()); }

void start_libprocess(const char* name) {
  process::initialize(std::string(name), NOTHING, NOTHING);
}

void run_master() {
  start_libprocess("master");
  local::launch(*flags_from_environment<local::Flags>(), nullptr);  // MESOS_NUM_SLAVES is 0
}

void run_candidate(const std::string& leader) {
  using namespace mesos::internal::master;
  using mesos::master::contender::MasterContender;
  using mesos::master::detector::MasterDetector;
  using Sorter = allocator::DRFSorter;
  using Process = allocator::HierarchicalAllocatorProcess<Sorter, Sorter>;

  start_libprocess("master");
  auto* flags = flags_from_environment<Flags>();
  auto* registry = new mesos::state::State{
      _ZTVN5mesos5state8protobuf5StateE + FUNCTIONS, new mesos::state::InMemoryStorage()};
  const Text election(leader);
  const bool is_elected = leader.rfind("zk://", 0) == 0;
  const Option<Duration> timeout(SESSION_TIMEOUT);
  spawn(new Master(
      reinterpret_cast<mesos::allocator::Allocator*>(new allocator::MesosAllocator<Process>()),
      new Registrar(*flags, registry, NOTHING), new_files(),
      made("contender",
           MasterContender::create(is_elected ? election : NOTHING, NOTHING, timeout)),
      made("detector", MasterDetector::create(leader, NOTHING, timeout)),
      Option<mesos::Authorizer*>(), Option<std::shared_ptr<process::RateLimiter>>(), *flags));
}

void run_agent(const std::string& master) {
  using namespace mesos::internal::slave;
  using mesos::master::detector::MasterDetector;

  start_libprocess("slave(1)");
  auto* flags = flags_from_environment<Flags>();
  auto* fetcher = new Fetcher(*flags);
  auto* collector = new GarbageCollector(getenv("MESOS_WORK_DIR"));
  auto agent = spawn(new Slave(
      "slave(1)", *flags,
      made("detector", MasterDetector::create(master, NOTHING, Option<Duration>())),
      made("containerizer",
           Containerizer::create(
               *flags, false, fetcher, collector, nullptr, nullptr, nullptr, nullptr)),
      new_files(), collector, new TaskStatusUpdateManager(*flags),
      made("estimator", mesos::slave::ResourceEstimator::create(NOTHING)),
      made("controller", mesos::slave::QoSController::create(NOTHING)),
      nullptr, nullptr, nullptr, process::Owned<CSIServer>(), Option<AgentSocket>(),
      Option<mesos::Authorizer*>()));
  process::wait(agent, FOR_EVER);  // it ends by itself when SIGUSR1 makes it unregister
  _exit(0);
}

int run_containerizer(int argc, char** argv) {
  using Launch = slave::MesosContainerizerLaunch;
  auto* launch = static_cast<Launch*>(calloc(1, sizeof(Launch)));
  launch->vtable = _ZTVN5mesos8internal5slave24MesosContainerizerLaunchE + FUNCTIONS;
  new (&launch->name) std::string("launch");
  new (&launch->flags) Launch::Flags();
  const Text prefix(std::string("MESOS_CONTAINERIZER_"));
  check("flags", launch->getFlags()->load(prefix, argc - 1, argv + 1, false, false));
  return launch->execute();
}

bool is_named(const char* program, const char* name) {
  const char* slash = strrchr(program, '/');
  return strcmp(slash ? slash + 1 : program, name) == 0;
}

void leave(int) { _exit(0); }

}

int main(int argc, char** argv) {
  if (is_named(argv[0], "mesos-containerizer")) return run_containerizer(argc, argv);
  signal(SIGTERM, leave);
  signal(SIGINT, leave);
  const std::string mode = argc > 1 ? argv[1] : "", other = argc > 2 ? argv[2] : "";
  if (mode == "master") run_master();
  else if (mode == "candidate" && !other.empty()) run_candidate(other);
  else if (mode == "agent" && !other.empty()) run_agent(other);
  else give_up("usage", "mesos-host master | candidate LEADER | agent MASTER");
  for (;;) pause();
}
