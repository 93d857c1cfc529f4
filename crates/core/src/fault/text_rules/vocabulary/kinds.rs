//! Kinds of words: words that mean the same to the rules about words that stand together.

/// Declares the kinds, one bit each, with their words in lower case.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $($word:literal)+;)+) => {
        #[expect(clippy::upper_case_acronyms, reason = "named as the constants they number")]
        #[expect(non_camel_case_types, reason = "named as the constants they number")]
        enum Bit { $($name,)+ }

        $($(#[$doc])* pub(in super::super) const $name: u128 = 1 << Bit::$name as u128;)+

        /// Every kind with its words.
        pub(in super::super) static KINDS: &[(u128, &[&str])] = &[$(($name, &[$($word),+]),)+];
    };
}

kinds! {
    /// Denies what follows or what stands before.
    NO: "no" "not" "cannot" "can't" "couldn't" "don't" "doesn't" "didn't" "isn't" "wasn't"
        "aren't" "hasn't" "haven't" "won't" "unable" "never" "none" "without" "nothing" "neither"
        "can not";
    /// Says that something did not succeed.
    FAILED: "failed" "failure" "failures" "fails" "fail" "failing" "unsuccessful" "problem"
        "trouble" "couldn't";
    ERROR: "error" "errors";
    /// Says that what was given is not right.
    WRONG: "invalid" "wrong" "incorrect" "bad" "unknown" "unrecognized" "unrecognised" "illegal"
        "malformed" "undefined" "unsupported" "nonexistent" "non-existent" "no such" "not a valid"
        "mismatched";
    /// What a right thing is, denied before it.
    RIGHT: "valid" "correct" "accepted" "match" "matches" "recognized" "recognised" "verified"
        "work" "usable";
    /// Wants something that is not there.
    NEEDS: "required" "requires" "require" "needed" "needs" "need" "must" "mandatory" "missing"
        "lacks" "lacking" "lack" "expects" "requiring" "necessary" "absent" "empty" "unset"
        "blank";
    /// Asks for something.
    ASKS: "please" "specify" "provide" "supply" "enter" "configure" "define" "give" "export"
        "ensure" "first";
    /// What a thing that is there is, denied before it.
    THERE: "provided" "supplied" "specified" "given" "set" "found" "configured" "available"
        "present" "defined" "passed" "exist" "exists" "located" "detected" "stored" "saved"
        "known" "find" "locate" "detect" "load" "read" "obtain" "retrieve" "loaded";
    /// What a check finds in code.
    ISSUES: "issue" "issues" "violation" "violations" "finding" "findings" "problems"
        "vulnerabilities" "vulnerability" "offenses" "offense" "mistakes" "smells" "regressions";
    SEEN: "found" "detected" "reported" "introduced";
    /// What programs are made of.
    CODE: "graphql query" "in query" "query string" "variable" "variables" "function" "functions" "method" "methods" "symbol" "symbols"
        "identifier" "identifiers" "expression" "expressions" "statement" "statements" "macro"
        "operator" "syntax" "compile" "compilation" "compiling" "assertion" "assertions"
        "evaluation" "dereference" "pointer" "procedure" "declaration"
        "constructor" "subscript" "semicolon" "bracket" "brace" "parenthesis" "indentation"
        "test" "tests" "testcase" "spec" "specs" "literal" "control sequence"
        "lambda" "closure" "typecheck" "type-check" "lint" "linting" "formatting";
    BUILDS: "build" "compile" "building" "to build" "to compile" "transpile" "typecheck";
    /// What words of code are not about.
    NO_CODE: "compilation database" "test environment" "function app" "build dependencies"
        "test database" "test suite not found" "statement timeout";
    UNDEFINED: "undefined" "undeclared" "unbound" "uninitialized" "unresolved";
    FALLEN: "undeclared" "unbound" "out of bounds" "division by zero" "divide by zero"
        "zero divisor" "null pointer" "nil pointer";
    /// What statements to a database name.
    SQL: "table" "column" "columns" "relation" "view" "object name" "table or view" "trigger"
        "sequence" "tables" "materialized view" "keyspace";
    FOUND: "found" "find" "available" "present" "exist" "exists" "located" "locate" "detected";
    /// What is logged in with.
    SECRET: "password" "passwords" "passphrase" "passcode" "credentials" "credential" "token"
        "tokens" "apikey" "api-key" "api key" "api keys" "api_key" "access key" "secret key"
        "api token" "auth token" "access token" "username" "user name" "jwt" "authtoken"
        "service account" "otp" "2fa" "login credentials" "authentication token" "pin code"
        "mfa code" "pass code" "one-time code" "verification code" "personal access token" "authkey" "auth key" "id token" "_token" "_password" "_secret"
        "_api_key" "_access_key" "_apikey" "_credentials";
    /// Proving who one is.
    LOGIN: "authenticate" "authentication" "authenticated" "authenticating" "login" "logon"
        "log in" "sign in" "signin" "log-in" "logged in" "signed in" "logged into" "log into" "signed into" "logged-in" "re-authenticate"
        "reauthenticate" "logging in" "signing in";
    LOGS_IN: "sign in to" "log in to" "login to" "log in first" "sign in first" "log in with"
        "log in using" "to log in" "to login" "to sign in" "logged out" "log in at" "please log in" "please sign in" "please login" "login first";
    EXPIRED: "expired" "lapsed" "outdated session";
    KEY: "private key" "key" "keys" "identity" "secret";
    REJECTED: "rejected" "violation" "too open" "refused" "revoked" "declined" "denied" "suspended" "deactivated"
        "disabled" "blocked";
    DENIED: "denied" "forbidden" "disallowed" "prohibited" "unauthorised" "accessdenied"
        "immutable" "write-protected" "read-only" "readonly";
    /// Rights that one has or has not.
    RIGHTS: "permission" "permissions" "privilege" "privileges" "push access" "pull access"
        "write access" "read access" "admin access" "full access" "access rights" "rights"
        "scopes" "required scope" "entitlement" "entitlements" "write permission" "authorization"
        "authorized" "authorised" "entitled" "superuser" "sufficient access" "admin role"
        "access control";
    /// Whose login it is.
    ACCOUNT: "account" "accounts";
    HAS: "have" "has" "grant" "granted" "hold" "possess" "given" "assigned" "sufficient"
        "enough";
    /// Who is let do more than others.
    ROLE: "admin" "maintainer" "maintainers" "owner" "owners" "member" "members" "collaborator"
        "role" "roles" "contributor" "privileged user";
    ANONYMOUS: "anonymous" "unauthenticated" "guest user";
    /// Who may do everything.
    ROOT: "as root" "be root" "are root" "is root" "root user" "root access" "root privileges"
        "root permissions" "root rights" "superuser" "super user" "administrator" "administrators"
        "with sudo" "using sudo" "use sudo" "via sudo" "sudo" "elevated" "elevation"
        "admin rights" "admin privileges" "administrative";
    UNLESS: "unless" "only" "only be" "has to" "have to" "should" "rerun" "re-run" "run again"
        "try again" "try running";
    /// A lock, and what is done with it.
    LOCK: "lock" "locks" "locked" "locking" "mutex" "lease" "flock" "lck";
    /// What `lock` is not about.
    PINNED: "lock file" "lockfile" "--locked" "--frozen" "locked to" "lockfiles";
    HOLDS: "acquire" "acquiring" "acquired" "obtain" "obtaining" "get" "getting" "take" "taking"
        "held" "hold" "holds" "holding" "wait" "waiting" "waited" "another" "already" "stale"
        "exclusive" "exclusively" "owned" "owner" "contention" "timeout" "create" "place" "grab"
        "released" "currently" "shared";
    /// What another program has opened.
    TAKEN: "is mounted" "still mounted" "currently mounted" "being accessed" "being used by" "open in another" "opened by another" "pid file"
        "pidfile" "opened by other" "accessed by other" "used by other" "owned by another";
    ANOTHER: "another" "other" "second" "different" "concurrent" "previous" "existing";
    INSTANCE: "instance" "instances" "process" "processes" "operation" "operations" "transaction"
        "update" "upgrade" "deployment" "deploy" "run" "program" "job" "session" "copy"
        "migration" "rollback" "sync" "backup" "build" "client" "server" "daemon" "task" "command"
        "installation" "application" "apply" "release" "action" "pid" "service" "thread";
    ACTIVE: "running" "progress" "using" "active" "executing" "in use" "ongoing" "underway"
        "performing" "being used" "pending" "busy" "in-progress";
    ALREADY: "already" "currently" "still" "is being";
    PORT: "port" "ports" "address" "socket" "bind" "listen" "listener" "binding";
    IN_USE: "in use" "already allocated" "already bound" "being used" "already used"
        "already listening" "taken" "occupied" "already in use" "listening";
    TOO_MANY: "too many";
    /// What there can be too many of without any limit on use.
    UNLIMITED: "arguments" "parameters" "values" "levels" "redirects" "errors" "links" "fields"
        "columns" "positional" "options" "open files" "authentication failures" "retries"
        "characters" "nested" "attempts" "heads" "roots" "symbolic";
    /// Room, and where it is.
    SPACE: "space" "inodes" "free space" "disk space" "space-percent";
    DISK: "disk" "partition" "filesystem" "volume" "device" "drive" "file system" "tablespace"
        "disc" "hdd" "storage" "pool" "filesystems" "datastore";
    FULL: "full" "exhausted" "exceeded" "exceeds" "overflow" "exceed" "exceeding"
        "minimum free";
    LITTLE: "insufficient" "enough" "low on" "out of" "ran out" "run out" "running out"
        "too little" "exhausted" "lack of" "sufficient" "short of";
    MORE: "more" "additional" "free up";
    /// What `space` is not about.
    INNER: "heap" "address" "name" "swap" "color" "metaspace" "stack" "white" "key" "user"
        "trailing" "tab" "after" "before";
    MEMORY: "memory" "heap" "ram" "stack size" "malloc" "mmap" "virtual memory" "vram"
        "address space" "shared memory";
    ALLOCATES: "allocate" "allocation" "allocating" "alloc" "map" "reserve" "fork";
    IO: "i/o error";
    BROKEN: "corrupt" "corrupted" "corruption" "damaged";
    KEPT: "database" "repository" "index" "segment" "store" "journal" "metadata" "table"
        "chunk" "superblock" "wal" "block" "snapshot" "cache" "data" "ledger" "storage";
    /// What a program is called with.
    COMMAND: "cmdlet" "command" "subcommand" "sub-command" "commands" "subcommands" "verb";
    /// What `command` is not about.
    LINE: "command line" "command-line" "commandline" "command failed" "command exited"
        "command returned" "the command" "this command" "command execution" "command name" "build command" "cmake command";
    PROGRAM: "executable" "binary" "program" "interpreter" "interpreters" "compiler" "compilers"
        "toolchain" "toolchains" "utility"
        "executables" "tool" "linker" "programs" "binaries" "cli" "tools"
        "browser" "debugger";
    INSTALLED: "installed" "on your path" "in your path" "in path" "on path" "in $path"
        "on the path" "in the path" "system path";
    INSTALL: "install" "installing" "installation instructions" "installed";
    STARTS: "spawn" "launch" "execute" "invoke" "exec" "executing" "spawning" "launching" "fork";
    NO_FILE: "no such file or directory" "file not found" "cannot find the file";
    ASKS_WHETHER: "do you have" "have you" "did you" "is it" "are you sure" "make sure" "ensure"
        "check that" "check if" "verify that" "please check" "be sure";
    /// What is installed in one of many forms.
    FORM: "version" "versions" "platform" "platforms" "board" "sdk" "model" "language" "locale"
        "environment" "distribution";
    /// What is installed but never called.
    PART: "package" "packages" "module" "modules" "plugin" "plugins" "library" "libraries"
        "extension" "extensions" "dependency" "dependencies" "header" "headers" "font" "driver"
        "provider" "theme" "crate" "gem" "template" "release" "chart"
        "image" "preset" "add-on" "addon" "integration" "certificate" "key" "target" "component"
        "addons" "formula" "formulae" "gems" "crates" "going to be";
    HOST: "host" "hostname" "hosts" "domain" "domain name" "host name" "address" "dns"
        "server name" "hostnames" "addresses";
    RESOLVES: "resolve" "resolving" "resolved" "resolution" "lookup" "look up" "looking up"
        "resolver" "resolves";
    DNS: "dns" "nslookup" "name resolution" "name server" "nameserver" "nxdomain" "servfail";
    CONNECTS: "connect" "connecting" "connection" "contact" "contacting" "reach"
        "communicate" "communicating" "communication" "talk to" "connected" "connections"
        "connectivity" "handshake" "dial" "reachable" "dialing" "websocket";
    /// What `connection` is not about.
    NAMED_LINK: "connection string" "connection url" "connection name" "connection uri"
        "connection parameters" "connection type" "connection id" "connection settings"
        "connection file";
    BREAKS: "refused" "lost" "dropped" "closed" "broken" "reset" "interrupted";
    /// What a wrong way of connecting is about.
    TLS: "ssl" "tls" "certificate" "protocol version" "https client";
    STREAM: "unexpected eof" "premature close" "incomplete read" "no internet"
        "internet connection" "goaway" "transport is closing" "transport error"
        "endpoint is not connected" "no network" "network problem" "network issue"
        "network failure" "unreachable" "peer reset" "hung up" "disconnected" "network connection";
    LOST: "lost" "closed" "reset" "refused" "failed" "dropped" "terminated" "interrupted"
        "aborted" "broken" "error" "disconnected" "failure" "unavailable" "hung up" "timed"
        "unexpectedly" "stalled" "errors" "severed";
    SERVER: "container" "server" "servers" "host" "peer" "remote" "service" "services" "backend" "upstream"
        "cluster" "node" "nodes" "broker" "brokers" "daemon" "agent" "endpoint" "gateway" "api"
        "database" "proxy" "controller" "registry" "site" "mirror" "mirrors" "machine" "network"
        "replica" "replicas" "coordinator" "worker" "instance" "emulator" "device"
        "simulator" "manager" "scheduler" "repository" "host(s)" "store" "bridge" "internet";
    DOWN: "down" "unreachable" "unavailable" "offline" "unresponsive" "not running"
        "not responding" "not available" "not ready" "not reachable" "isn't running"
        "not started" "shutting down" "maintenance" "overloaded" "not respond" "no response"
        "stopped responding" "disconnected" "not online" "not up" "not connected" "starting up"
        "safe mode" "recovery mode" "in standby" "sealed" "unhealthy" "degraded" "isn't responding" "is not alive" "not reach"
        "at capacity" "outage";
    IDLE: "is not running" "isn't running" "not currently running" "not responding"
        "are not running" "was not running";
    LEADER: "leader" "quorum" "majority" "healthy" "replicas" "brokers" "available nodes"
        "nodes available" "live nodes" "available server" "available servers" "backends"
        "reachable" "listener" "capacity" "endpoints" "servers" "upstreams";
    STOPPED: "cancelled" "canceled" "killed" "aborted" "terminated" "exceeded" "reached" "hit"
        "stopped" "exceeds" "expired";
    TIME_LIMIT: "time limit" "walltime" "wall time" "wall clock" "run time" "execution time"
        "maximum time" "time budget" "wait time" "waiting period" "deadline" "grace period";
    WITHIN: "within" "in time" "before the deadline" "before the timeout" "after waiting"
        "in the allotted" "time limit" "allotted time";
    WAITS: "waiting" "waited" "wait" "polling" "hung" "stuck";
    OVERDUE: "did not return" "no response" "took longer than" "no output for" "timed-out" "inactivity"
        "never became" "longer than expected" "not become ready" "not ready after"
        "no response after" "gave up waiting" "gave up after" "stopped waiting";
    TOO_LONG: "too long" "gave up" "giving up" "too slow" "deadline" "long time";
    MERGE: "merge" "merging" "rebase" "rebasing" "patch" "branch" "branches" "working copy"
        "working tree" "working directory" "revision" "changeset" "bookmark" "head" "heads"
        "stash" "cherry-pick" "commit" "pull" "push" "git" "tree" "checkout";
    CONFLICT: "conflict" "conflicts" "conflicted" "diverged" "unresolved" "unmerged" "divergent"
        "out of date" "out-of-date" "non-fast-forward" "stale" "uncommitted" "dirty" "is behind"
        "unstaged" "unpushed";
    RATE: "requests" "calls" "rate" "quota" "usage" "credits" "budget" "quotas" "tokens per"
        "bandwidth" "tier" "free tier" "monthly" "daily" "hourly" "per minute" "per hour"
        "per day" "builds" "plan";
    OVER: "exceeded" "exhausted" "exceeds" "reached" "hit" "limit" "limits" "limited" "too many"
        "throttled" "throttling" "exceeding" "used up" "depleted" "over its" "over the" "over your" "limit reached"
        "limit exceeded" "limit hit";
}
