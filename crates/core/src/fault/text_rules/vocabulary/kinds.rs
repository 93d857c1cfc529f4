//! Kinds of words: sets of words that are equivalent for the word-combination rules.

/// Declares the kinds, one bit each, with their words in lower case.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $($word:literal)+;)+) => {
        #[expect(clippy::upper_case_acronyms, reason = "named as the constants they number")]
        #[expect(non_camel_case_types, reason = "named as the constants they number")]
        enum Bit { $($name,)+ }

        $($(#[$doc])* pub(in super::super) const $name: u128 = 1 << Bit::$name as u128;)+

        /// All kinds with their words.
        pub(in super::super) static KINDS: &[(u128, &[&str])] = &[$(($name, &[$($word),+]),)+];
    };
}

kinds! {
    /// Negations of the words before or after.
    NO: "no" "not" "cannot" "can't" "couldn't" "don't" "doesn't" "didn't" "isn't" "wasn't"
        "aren't" "hasn't" "haven't" "won't" "unable" "never" "none" "without" "nothing" "neither"
        "can not";
    /// Words for a failure.
    FAILED: "failed" "failure" "failures" "fails" "fail" "failing" "unsuccessful" "problem"
        "trouble" "couldn't";
    ERROR: "error" "errors";
    /// Words for an incorrect value.
    WRONG: "invalid" "wrong" "incorrect" "bad" "unknown" "unrecognized" "unrecognised" "illegal"
        "malformed" "undefined" "unsupported" "nonexistent" "non-existent" "no such" "not a valid"
        "mismatched" "mismatch";
    /// Words for a correct value, preceded by a negation.
    RIGHT: "valid" "correct" "accepted" "match" "matches" "recognized" "recognised" "verified"
        "agree" "agrees" "correspond" "work" "usable" "pass" "passes" "matched" "accept" "recognize" "recognise" "verify" "unlock"
        "be verified" "be authenticated";
    /// `be authenticated`: an authentication that was attempted.
    PROVEN: "be authenticated" "be verified" "be logged in" "be signed in";
    /// Requests to put a value into a setting.
    SETS: "set" "define" "export";
    /// Words for a requirement that is not met.
    NEEDS: "required" "requires" "require" "needed" "needs" "need" "must" "mandatory" "missing"
        "lacks" "lacking" "lack" "expects" "requiring" "necessary" "absent" "empty" "unset"
        "blank";
    MISSING: "missing" "unset" "not set" "not provided" "not supplied" "absent";
    /// Requests to provide a value.
    ASKS: "please" "specify" "provide" "supply" "enter" "configure" "define" "give" "export"
        "ensure" "first";
    /// Words for a value that is present, preceded by a negation.
    THERE: "provided" "supplied" "specified" "given" "set" "found" "configured" "available"
        "present" "defined" "passed" "exist" "exists" "located" "detected" "stored" "saved"
        "known" "find" "locate" "detect" "load" "read" "obtain" "retrieve" "loaded";
    /// Findings of a check in code.
    ISSUES: "issue" "issues" "violation" "violations" "finding" "findings" "problems"
        "race" "races" "data race(s)" "vulnerabilities" "vulnerability" "offenses" "offense" "mistakes" "smells" "regressions";
    SEEN: "found" "detected" "reported" "introduced" "discovered";
    /// Parts of a program.
    CODE: "graphql query" "in query" "query string" "variable" "variables" "function" "functions" "method" "methods" "symbol" "symbols"
        "identifier" "identifiers" "expression" "expressions" "statement" "statements" "macro"
        "operator" "syntax" "compile" "compilation" "compiling" "assertion" "assertions"
        "evaluation" "dereference" "pointer" "procedure" "declaration"
        "constructor" "subscript" "semicolon" "bracket" "brace" "parenthesis" "indentation"
        "test" "tests" "testcase" "spec" "specs" "literal" "control sequence"
        "lambda" "closure" "typecheck" "type-check" "lint" "linting" "formatting";
    /// Named items of a program.
    SYMBOL: "variable" "symbol" "identifier" "method" "macro" "subroutine";
    /// Owners of a name outside a program.
    OUTSIDE: "environment" "env" "workflow" "pipeline" "shell" "http" "request" "payment";
    BUILDS: "build" "compile" "building" "to build" "to compile" "transpile" "typecheck";
    /// Phrases with words of code that are not about code.
    NO_CODE: "compilation database" "test environment" "function app" "build dependencies"
        "test database" "test suite not found" "statement timeout";
    UNDEFINED: "undefined" "undeclared" "unbound" "uninitialized" "unresolved";
    FALLEN: "undeclared" "unbound" "out of bounds" "division by zero" "divide by zero"
        "zero divisor" "null pointer" "nil pointer";
    /// Objects named in database statements.
    SQL: "table" "column" "columns" "relation" "view" "object name" "table or view" "trigger"
        "sequence" "tables" "materialized view" "keyspace";
    FOUND: "found" "find" "available" "present" "exist" "exists" "located" "locate" "detected";
    /// Credentials.
    SECRET: "secrets" "mfa" "two-factor code" "authentication code" "security code" "2fa code" "one-time password"
        "password" "passwords" "passphrase" "passcode" "credentials" "credential" "token"
        "tokens" "client secret" "secret access key" "bearer token" "refresh token" "session token"
        "session id" "session key" "app password" "api secret" "apikey" "api-key" "api key" "api keys" "api_key" "access key" "secret key"
        "api token" "auth token" "access token" "username" "user name" "jwt" "authtoken"
        "service account" "otp" "2fa" "login credentials" "authentication token" "pin code"
        "mfa code" "pass code" "one-time code" "verification code" "personal access token" "authkey" "auth key" "id token" "_token" "_password" "_secret"
        "hmac" "_api_key" "_access_key" "_apikey" "_credentials";
    /// Words for authentication.
    LOGIN: "sign-in" "log-on" "authenticate" "authentication" "authenticated" "authenticating" "login" "logon"
        "log in" "sign in" "signin" "log-in" "logged in" "signed in" "logged into" "log into" "signed into" "logged-in" "re-authenticate"
        "reauthenticate" "logging in" "signing in";
    LOGS_IN: "sign in to" "log in to" "login to" "log in first" "sign in first" "log in with"
        "log in using" "to log in" "to login" "to sign in" "logged out" "log in at" "please log in" "please sign in" "please login" "login first" "sign in before" "log in before" "login before" "authenticate before"
        "authenticate first" "log in and" "sign in and";
    EXPIRED: "expired" "lapsed" "outdated session" "no longer valid";
    /// Verbs for obtaining a value.
    GETS: "get" "obtain" "load" "find" "retrieve" "locate" "determine" "acquire" "access" "read"
        "getting" "loading" "retrieving" "finding" "reading" "obtaining";
    /// Keys and identities that sign or decrypt.
    IDENTITY: "ssh key" "ssh keys" "signing key" "gpg key" "deploy key" "identity" "identities" "signing identity" "keypair" "key pair";
    /// Stores of secrets.
    SAFE: "password store" "credential store" "secret store" "password manager"
        "password database" "token store";
    KEY: "private key" "key" "keys" "identity" "secret";
    REJECTED: "prevents" "forbids" "blocks" "prohibits" "rejected" "violation" "too open" "refused" "revoked" "declined" "denied" "suspended" "deactivated"
        "disabled" "blocked";
    DENIED: "denied" "forbidden" "disallowed" "prohibited" "unauthorised" "accessdenied"
        "is protected" "protected branch" "is blocked" "blocked by" "restricted to" "is read only" "read only mode" "not own"
        "immutable" "write-protected" "read-only";
    /// Rights that a user may or may not have.
    RIGHTS: "permission" "permissions" "privilege" "privileges" "privileged" "capability" "capabilities" "push access" "pull access"
        "write access" "read access" "admin access" "full access" "access rights" "rights"
        "scopes" "required scope" "entitlement" "entitlements" "write permission" "authorization"
        "authorized" "authorised" "entitled" "superuser" "sufficient access" "admin role"
        "access control" "clearance" "token scope" "oauth scope" "insufficient scope" "oauth scopes";
    /// Rules that state permissions.
    POLICY: "policy" "policies" "acl" "acls" "role" "roles";
    PERMITS: "permit" "permits" "allow" "allows" "permitted" "allowed" "grant" "grants";
    /// Owners of a login.
    ACCOUNT: "account" "accounts";
    HAS: "have" "has" "grant" "granted" "hold" "possess" "given" "assigned" "sufficient"
        "enough";
    /// Users with more rights than others.
    ROLE: "author" "allow list" "allowlist" "allow-list" "whitelist" "admin" "maintainer" "maintainers" "owner" "owners" "member" "members" "collaborator"
        "role" "roles" "contributor" "privileged user" "administrators" "moderator";
    ONLY: "only";
    ACCESS: "access";
    ANONYMOUS: "anonymous" "unauthenticated" "guest user";
    /// Statements that only root may do it.
    ROOT_ONLY: "need root" "needs root" "requires root" "only root" "root may" "root can" "only the superuser" "only administrators";
    /// Actions performed as root.
    AS_ROOT: "as root" "by root" "as the root user" "as superuser" "as administrator"
        "running as root" "run as root" "with root privileges" "as the superuser";
    ROOT: "as root" "be root" "are root" "is root" "root user" "root access" "root privileges"
        "root permissions" "root rights" "superuser" "super user" "administrator" "administrators"
        "with sudo" "using sudo" "use sudo" "via sudo" "sudo" "elevated" "elevation"
        "admin rights" "admin privileges" "administrative";
    UNLESS: "unless" "only" "only be" "has to" "have to" "should" "rerun" "re-run" "run again"
        "try again" "try running";
    /// Locks and locking.
    LOCK: "lock" "locks" "locked" "locking" "mutex" "lease" "flock" "lck";
    /// Phrases with `lock` that are not about locks.
    PINNED: "lock file" "lockfile" "--locked" "--frozen" "locked to" "lockfiles";
    HOLDS: "acquire" "acquiring" "acquired" "obtain" "obtaining" "get" "getting" "take" "taking"
        "held" "hold" "holds" "holding" "wait" "waiting" "waited" "another" "already" "stale"
        "exclusive" "exclusively" "owned" "owner" "contention" "timeout" "create" "place" "grab"
        "released" "currently" "shared";
    /// Resources that another program has open.
    TAKEN: "being modified" "being edited" "is mounted" "still mounted" "currently mounted" "being accessed" "being used by" "open in another" "opened by another"
        "opened by other" "accessed by other" "used by other" "owned by another";
    PID_FILE: "pid file" "pidfile";
    ANOTHER_ONE: "another";
    ANOTHER: "another" "other" "second" "different" "concurrent" "previous" "existing";
    INSTANCE: "instance" "instances" "process" "processes" "operation" "operations" "transaction"
        "update" "upgrade" "deployment" "deploy" "run" "program" "job" "session" "copy"
        "migration" "rollback" "sync" "backup" "build" "client" "server" "daemon" "task" "command"
        "installation" "application" "apply" "release" "action" "pid" "service" "thread";
    ACTIVE: "running" "progress" "using" "active" "executing" "in use" "ongoing" "underway"
        "performing" "being used" "pending" "busy" "in-progress";
    IN_PROGRESS: "in progress" "in-progress" "is ongoing" "underway";
    ALREADY: "already" "currently" "still" "is being";
    PORT: "port" "ports" "address" "socket" "bind" "listen" "listener" "binding";
    IN_USE: "in use" "already allocated" "already bound" "being used" "already used"
        "already listening" "taken" "occupied" "already in use" "listening";
    TOO_MANY: "too many";
    TOO_FAST: "too quickly" "too often" "too fast" "too frequently" "too rapidly";
    UPGRADE: "upgrade to" "upgrade your" "please upgrade" "upgrade for";
    /// Nouns that can be too many without any usage limit.
    UNLIMITED: "arguments" "parameters" "values" "levels" "redirects" "errors" "links" "fields"
        "columns" "positional" "options" "open files" "authentication failures" "retries"
        "characters" "nested" "attempts" "heads" "roots" "symbolic";
    /// Disk space.
    SPACE: "room left" "room on" "room for" "space" "inodes" "free space" "disk space" "space-percent";
    /// Inputs of a program.
    ARCHIVE: "compressed" "archive" "zip" "gzip" "tarball" "package" "bundle" "backup" "dump"
        "image" "input" "download" "signature";
    DISK: "disk" "partition" "filesystem" "volume" "device" "drive" "file system" "tablespace"
        "disc" "hdd" "storage" "pool" "filesystems" "datastore";
    FULL: "full" "exhausted" "exceeded" "exceeds" "overflow" "exceed" "exceeding"
        "minimum free";
    LITTLE: "insufficient" "enough" "low on" "out of" "ran out" "run out" "running out"
        "too little" "exhausted" "lack of" "sufficient" "short of";
    LEFT: "left" "remaining" "available" "free";
    MORE: "more" "additional" "free up";
    /// Phrases with `space` that are not about disk space.
    INNER: "heap" "address" "name" "swap" "color" "metaspace" "stack" "white" "key" "user"
        "trailing" "tab" "after" "before";
    MEMORY: "memory" "heap" "ram" "stack size" "malloc" "mmap" "virtual memory" "vram"
        "address space" "shared memory";
    ALLOCATES: "allocate" "allocation" "allocating" "alloc" "map" "reserve" "fork";
    IO: "i/o error";
    BROKEN: "corrupt" "corrupted" "corruption" "damaged";
    KEPT: "database" "repository" "index" "segment" "store" "journal" "metadata" "table"
        "chunk" "superblock" "wal" "block" "snapshot" "cache" "data" "ledger" "storage";
    /// Commands and subcommands.
    COMMAND: "cmdlet" "command" "subcommand" "sub-command" "commands" "subcommands" "verb";
    /// Phrases with `command` that are not about a command name.
    LINE: "command line" "command-line" "commandline" "command failed" "command exited"
        "command returned" "the command" "this command" "command execution" "command name" "build command" "cmake command";
    PROGRAM: "executable" "binary" "program" "interpreter" "interpreters" "compiler" "compilers"
        "toolchain" "toolchains" "utility"
        "jdk" "jre" "executables" "tool" "linker" "programs" "binaries" "cli" "tools"
        "browser" "debugger";
    INSTALLED: "installed" "on your path" "in your path" "in path" "on path" "in $path"
        "on the path" "in the path" "system path";
    ON_MACHINE: "on this machine" "on your machine" "on this system" "on your system"
        "on the system" "on this computer" "on this host";
    INSTALL: "install" "installing" "installation instructions" "installed";
    STARTS: "execvp" "execve" "run command" "running command" "start process" "run program"
        "spawn" "launch" "execute" "invoke" "exec" "executing" "spawning" "launching" "fork";
    RUNS: "run" "running" "execute" "start" "invoke";
    NOT_FOUND: "not found" "no such file or directory";
    NO_FILE: "no such file or directory" "file not found" "cannot find the file";
    ASKS_WHETHER: "do you have" "have you" "did you" "is it" "are you sure" "make sure" "ensure"
        "check that" "check if" "verify that" "please check" "be sure";
    /// Installable things that exist in several versions or variants.
    FORM: "version" "versions" "platform" "platforms" "board" "sdk" "model" "language" "locale"
        "environment" "distribution";
    /// Installable things that are never called.
    PART: "package" "packages" "module" "modules" "plugin" "plugins" "library" "libraries"
        "extension" "extensions" "dependency" "dependencies" "header" "headers" "font" "driver"
        "provider" "theme" "crate" "gem" "template" "release" "chart"
        "image" "preset" "add-on" "addon" "integration" "certificate" "key" "target" "component"
        "addons" "formula" "formulae" "gems" "crates" "going to be";
    HOST: "host" "hostname" "hosts" "domain" "domain name" "host name" "address" "dns"
        "server name" "hostnames" "addresses";
    RESOLVES: "resolve" "resolving" "resolved" "resolution" "lookup" "look up" "looking up"
        "resolver" "resolves";
    DNS: "resolver" "dns" "nslookup" "name resolution" "name server" "nameserver" "nxdomain" "servfail";
    CONNECTS: "establish" "establishing" "open a socket" "open socket" "create socket" "connect" "connecting" "connection" "contact" "contacting" "reach"
        "communicate" "communicating" "communication" "talk to" "connected" "connections"
        "connectivity" "handshake" "dial" "reachable" "dialing" "websocket";
    /// Phrases with `connection` that are not about a connection.
    NAMED_LINK: "connection string" "connection url" "connection name" "connection uri"
        "connection parameters" "connection type" "connection id" "connection settings"
        "connection file";
    /// Carriers of a connection.
    LINK: "socket" "stream" "channel" "tunnel" "link" "transport" "the pipe";
    BREAKS: "hang-up" "refused" "lost" "dropped" "closed" "broken" "reset" "interrupted";
    /// Subjects of a wrongly configured connection.
    TLS: "ssl" "tls" "certificate" "protocol version" "https client";
    STREAM: "premature close" "incomplete read" "no internet"
        "internet connection" "goaway" "transport is closing" "transport error"
        "no route" "link is down" "connection in progress"
        "endpoint is not connected" "no network" "network problem" "network issue"
        "network failure" "network changed" "unreachable" "peer reset" "hung up" "disconnected" "network connection";
    /// The end of input, which may be a connection or a text.
    ENDED: "unexpected eof" "unexpected end of stream" "premature eof" "eof";
    /// Things that have an end without any connection.
    READ: "token" "parse" "parsing" "reading" "file" "input" "line" "script" "syntax" "header"
        "looking" "expected" "expecting" "string" "literal";
    LOST: "lost" "closed" "reset" "refused" "failed" "dropped" "terminated" "interrupted"
        "aborted" "broken" "error" "disconnected" "failure" "unavailable" "hung up" "timed"
        "unexpectedly" "stalled" "errors" "severed";
    SERVER: "server" "servers" "host" "peer" "remote" "service" "services" "backend" "upstream"
        "cluster" "node" "nodes" "broker" "brokers" "daemon" "agent" "endpoint" "gateway" "api"
        "database" "proxy" "controller" "registry" "site" "mirror" "mirrors" "machine" "network"
        "replica" "replicas" "coordinator" "worker" "instance" "emulator" "device"
        "simulator" "manager" "scheduler" "repository" "host(s)" "store" "bridge" "internet";
    DOWN: "not listen" "not listening" "not accepting" "not accept" "too busy" "isn't up" "down" "unreachable" "unavailable" "offline" "unresponsive" "not running"
        "not responding" "not available" "not ready" "not reachable" "isn't running"
        "not started" "shutting down" "maintenance" "overloaded" "not respond" "no response"
        "stopped responding" "disconnected" "not online" "not up" "not connected" "starting up"
        "safe mode" "recovery mode" "in standby" "sealed" "unhealthy" "degraded" "isn't responding" "is not alive" "not reach"
        "at capacity" "outage";
    /// Words for a server that is not ready yet.
    NOT_YET: "is not running" "isn't running" "not currently running" "not responding" "are not running" "was not running"
        "changed while" "changed as" "changed during" "modified while" "modified during"
        "vanished" "has changed since" "modified since" "already booting" "already starting" "already stopping"
        "concurrent modification" "concurrent update" "modified concurrently" "must be ready" "not primary" "not master" "not the leader" "not leader"
        "not yet ready" "not yet available" "not ready yet" "still initializing"
        "is initializing" "still provisioning" "being provisioned" "still starting"
        "still creating" "is being created" "is being deleted" "being updated" "is upgrading"
        "state pending" "state creating" "state updating" "state deleting" "is rebooting"
        "is restarting" "still booting" "not finished starting" "warming up" "is draining";
    /// Deadlocks between two transactions.
    DEADLOCK: "deadlock" "deadlocked" "serialization failure";
    TEMPORARY: "temporary" "transient" "intermittent";
    FILES: "file" "files" "directory" "folder" "path";
    LEADER: "primary" "leader" "quorum" "majority" "healthy" "replicas" "brokers" "available nodes"
        "nodes available" "live nodes" "available server" "available servers" "backends"
        "reachable" "listener" "capacity" "endpoints" "servers" "upstreams";
    STOPPED: "cancelled" "canceled" "killed" "aborted" "terminated" "exceeded" "reached" "hit"
        "stopped" "exceeds" "expired" "elapsed";
    TIME_LIMIT: "maximum wait" "max wait" "wait limit" "max duration" "maximum duration"
        "maximum runtime" "time allowed" "time limit" "walltime" "wall time" "wall clock" "run time" "execution time"
        "maximum time" "time budget" "wait time" "waiting period" "deadline" "grace period";
    WITHIN: "within" "in time" "before the deadline" "before the timeout" "after waiting"
        "in the allotted" "time limit" "allotted time";
    /// Durations of a wait.
    AFTER_TIME: "after # seconds" "after # minutes" "after # ms" "after # milliseconds" "after # s"
        "after # hours" "after # min" "in # seconds" "within # seconds" "within # minutes" "for # seconds" "for # minutes"
        "after # m" "after # h" "in # s" "within # s" "within # m" "for # s";
    WAITS: "waiting" "waited" "wait" "polling" "hung" "stuck";
    /// `within` used for a place.
    INSIDE: "not within" "within a" "within an" "within the" "inside";
    OVERDUE: "ran too long" "running too long" "taking too long" "no heartbeat" "stalled for" "no reply" "did not reply" "failed to respond" "failed to answer" "ran longer than"
        "did not answer" "not answering" "no answer" "never responded" "did not finish"
        "still waiting" "took more than" "not running after" "exceeded the allotted"
        "watchdog" "did not return" "no response" "took longer than" "no output for" "timed-out" "inactivity"
        "never became" "longer than expected" "not become ready" "not ready after"
        "no response after" "gave up waiting" "gave up after" "stopped waiting";
    TOO_LONG: "too long" "gave up" "giving up" "too slow" "deadline" "long time";
    MERGE: "local copy" "tip" "patches" "working dir" "worktree" "work tree" "working area" "merge" "merging" "rebase" "rebasing" "patch" "branch" "branches" "working copy"
        "working tree" "working directory" "revision" "changeset" "bookmark" "head" "heads"
        "submit" "submitting" "changelist" "check-in" "stash" "cherry-pick" "commit" "pull" "push" "git" "tree" "checkout";
    CONFLICT: "changed on both" "modified on both" "both modified" "both added" "not be applied"
        "cannot be applied" "not apply" "conflict" "conflicts" "conflicted" "diverged" "unresolved" "unmerged" "divergent"
        "out of date" "out-of-date" "non-fast-forward" "stale" "uncommitted" "dirty" "is behind"
        "unstaged" "unpushed" "not clean" "must be clean" "isn't clean" "unclean" "up-to-date check" "must resolve" "not up-to-date" "cannot merge"
        "would fork" "cannot be merged" "not be merged" "not mergeable";
    RATE: "free minutes" "build minutes" "compute hours" "requests" "calls" "rate" "quota" "usage" "credits" "budget" "quotas" "tokens per"
        "bandwidth" "tier" "free tier" "monthly" "daily" "hourly" "per minute" "per hour"
        "per day" "builds" "plan" "cap" "caps" "concurrency" "concurrent";
    /// Paid plans.
    PLAN: "your plan" "current plan" "free plan" "this plan" "paid plan" "pro plan" "free tier"
        "your subscription" "your tier" "your organization's" "your account's" "your license"
        "organization's" "your workspace" "resource monitor";
    MONEY: "more money" "add funds" "more funds" "top up" "outstanding invoice" "unpaid invoice" "credits" "account balance" "your balance" "credit balance" "billing" "payment method"
        "your trial" "free trial" "trial period" "prepaid" "credit left";
    OVERDUE_BILL: "past due" "overdue" "ended" "declined" "expired" "required" "ran out"
        "has run out" "unpaid" "suspended";
    /// Units of size, which are not used up.
    SIZED: "gb" "gib" "tb" "bundle" "kb" "mb" "kib" "mib" "bytes" "characters" "length" "depth" "size";
    /// Words for a maximum amount.
    LIMIT: "limit" "limits" "maximum number" "allowance";
    OVERRUN: "exceeded" "reached" "hit" "exceeds" "exceeding" "hits" "reaches";
    /// Concurrent changes, after which the operation has to be repeated.
    CHANGED: "has been modified" "was modified" "has been changed" "been updated" "has changed";
    AGAIN: "try again" "retry" "please retry" "retry the";
    OTHER: "different";
    OVER: "spent" "consumed" "exceeded" "exhausted" "exceeds" "reached" "hit" "limit" "limits" "limited" "too many"
        "throttled" "throttling" "exceeding" "used up" "depleted" "over its" "over the" "over your" "limit reached"
        "limit exceeded" "limit hit" "maximum number" "maxed out";
}
