//! The fault table: every code with its context and attributes.
//!
//! The enum of codes is made from the rows here; the contexts, the constructors and the pages are made from the
//! same rows where they live. A code without all its columns does not compile, and a code with another code's
//! context cannot be expressed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Asks, Category, Charge, Class, ErrorType, Reaction, Row};

/// Passes all rows of the table to the macro `$with`: constructor, variant with its context, name and columns.
macro_rules! with_fault_table {
    ($with:ident) => {
        $with! {
            /// The model or agent program ended unexpectedly.
            provider_crash ProviderCrash(Crash) "PROVIDER_CRASH":
                Provider Network EnvError Backoff [Transient Consecutive] Choice;
            /// The model's service answered with a server error or dropped the connection.
            provider_api_error ProviderApiError(Http) "PROVIDER_API_ERROR":
                Provider Network EnvError BackoffThenGate [Transient Consecutive] Choice;
            /// The model's service asked for fewer requests.
            provider_rate_limit ProviderRateLimit(RateLimit) "PROVIDER_RATE_LIMIT":
                Provider Network EnvError Gate [Wait] Choice;
            /// The model's service is overloaded.
            provider_overloaded ProviderOverloaded(RateLimit) "PROVIDER_OVERLOADED":
                Provider Network EnvError Gate [Wait] Choice;
            /// The plan's usage window is used up.
            provider_usage_limit ProviderUsageLimit(RateLimit) "PROVIDER_USAGE_LIMIT":
                Provider Network EnvError GateUntilReset [Wait] Choice;
            /// The conversation no longer fits the model.
            provider_context_too_long ProviderContextTooLong(Http) "PROVIDER_CONTEXT_TOO_LONG":
                Provider Logic CodeError Compact [Compaction] Choice;
            /// The model's answer was cut off at its length limit.
            provider_output_limit ProviderOutputLimit(Http) "PROVIDER_OUTPUT_LIMIT":
                Provider Logic CodeError Replan [Signature Consecutive] Choice;
            /// The model declined to do it.
            provider_refused ProviderRefused(Http) "PROVIDER_REFUSED":
                Provider Logic CodeError Replan [Signature Consecutive] Choice;
            /// The model's service does not accept the way it was called.
            provider_rejected ProviderRejected(Http) "PROVIDER_REJECTED":
                Provider Internal NeverRetry Ask [] Hands;
            /// The agent program is not installed, or the model does not exist.
            provider_not_available ProviderNotAvailable(Provider) "PROVIDER_NOT_AVAILABLE":
                Provider Precondition NeverRetry Ask [] Hands;
            /// The account's credit or spending cap is used up.
            provider_quota ProviderQuota(Http) "PROVIDER_QUOTA":
                Provider Precondition NeverRetry Ask [] Hands;

            /// One round of the agent took too long.
            iteration_timeout IterationTimeout(Timeout) "ITERATION_TIMEOUT":
                Timeout Network EnvError Backoff [Transient Consecutive] Choice;
            /// One operation took too long.
            operation_timeout OperationTimeout(Timeout) "OPERATION_TIMEOUT":
                Timeout Network EnvError Backoff [Transient Consecutive] Choice;

            /// A check before the commit is red.
            validation_pre_commit ValidationPreCommit(Validation) "VALIDATION_PRE_COMMIT":
                Validation Logic CodeError Replan [Signature Consecutive] Choice;
            /// A check before the push is red.
            validation_pre_push ValidationPrePush(Validation) "VALIDATION_PRE_PUSH":
                Validation Logic CodeError Replan [Signature Consecutive] Choice;
            /// A check before the pull request is red.
            validation_pre_pr ValidationPrePr(Validation) "VALIDATION_PRE_PR":
                Validation Logic CodeError Replan [Signature Consecutive] Choice;

            /// A check fails exactly as it did before any agent worked.
            validation_red_base ValidationRedBase(Validation) "VALIDATION_RED_BASE":
                Validation Precondition NeverRetry Ask [] RedBase;

            /// A forbidden file was changed.
            scope_forbidden ScopeForbidden(Files) "SCOPE_FORBIDDEN":
                Scope Logic CodeError TakeBackReplan [Signature Consecutive] Choice;
            /// A file outside the allowed ones was changed.
            scope_outside_allowed ScopeOutsideAllowed(Files) "SCOPE_OUTSIDE_ALLOWED":
                Scope Logic CodeError TakeBackReplan [Signature Consecutive] Choice;
            /// A person did not allow the change.
            scope_user_denied ScopeUserDenied(Files) "SCOPE_USER_DENIED":
                Scope Permission NeverRetry TakeBackSkip [] NoQuestion;

            /// A setting has a value that cannot work.
            config_invalid ConfigInvalid(Config) "CONFIG_INVALID":
                Config Config NeverRetry Fail [] NoQuestion;
            /// A settings file that was named does not exist.
            config_missing ConfigMissing(Config) "CONFIG_MISSING":
                Config Config NeverRetry Fail [] NoQuestion;
            /// A setting needs an environment variable that is not set.
            config_env_var_missing ConfigEnvVarMissing(Config) "CONFIG_ENV_VAR_MISSING":
                Config Config NeverRetry Fail [] NoQuestion;
            /// A settings or task file cannot be read.
            config_parse_error ConfigParseError(Config) "CONFIG_PARSE_ERROR":
                Config Config NeverRetry Fail [] NoQuestion;

            /// Git could not say what changed.
            git_status_failed GitStatusFailed(GitOperation) "GIT_STATUS_FAILED":
                Git Network EnvError RetryOnceAsk [Git] Hands;
            /// Git could not commit.
            git_commit_failed GitCommitFailed(GitOperation) "GIT_COMMIT_FAILED":
                Git Network EnvError RetryOnceWarnAsk [Git] Hands;
            /// Git could not push.
            git_push_failed GitPushFailed(GitOperation) "GIT_PUSH_FAILED":
                Git Network EnvError RetryOnceWarn [Git] NoQuestion;
            /// Another program holds git's lock.
            git_locked GitLocked(GitOperation) "GIT_LOCKED":
                Git Network EnvError Backoff [Transient] Choice;
            /// Two changes touch the same lines.
            git_conflict GitConflict(GitOperation) "GIT_CONFLICT":
                Git Logic CodeError Replan [Signature Consecutive] Choice;
            /// A change could not be taken back.
            git_revert_failed GitRevertFailed(GitOperation) "GIT_REVERT_FAILED":
                Git Internal NeverRetry Quarantine [] Ours;

            /// The agent may not skip its permission prompts.
            permission_skip_denied PermissionSkipDenied(Permission) "PERMISSION_SKIP_DENIED":
                Permission Permission NeverRetry Ask [] Ok;
            /// A command is not allowed.
            permission_command_blocked PermissionCommandBlocked(Permission) "PERMISSION_COMMAND_BLOCKED":
                Permission Permission NeverRetry Ask [] Ok;
            /// A file may be touched only with a person's permission.
            permission_file_access PermissionFileAccess(Permission) "PERMISSION_FILE_ACCESS":
                Permission Permission NeverRetry Ask [] Ok;
            /// An account refused the credentials.
            auth_invalid AuthInvalid(Auth) "AUTH_INVALID":
                Permission Auth NeverRetry Ask [] Hands;
            /// A login has expired.
            auth_expired AuthExpired(Auth) "AUTH_EXPIRED":
                Permission Auth NeverRetry Ask [] Hands;
            /// No credentials were given.
            auth_missing AuthMissing(Auth) "AUTH_MISSING":
                Permission Auth NeverRetry Ask [] Hands;

            /// A service could not be reached.
            network_unreachable NetworkUnreachable(Http) "NETWORK_UNREACHABLE":
                Network Network EnvError Backoff [Transient] Choice;
            /// A service did not answer in time.
            network_timeout NetworkTimeout(Http) "NETWORK_TIMEOUT":
                Network Network EnvError Backoff [Transient] Choice;
            /// A service is down for the moment.
            network_unavailable NetworkUnavailable(Http) "NETWORK_UNAVAILABLE":
                Network Network EnvError Backoff [Transient] Choice;
            /// A service asked for fewer requests.
            network_rate_limit NetworkRateLimit(RateLimit) "NETWORK_RATE_LIMIT":
                Network Network EnvError Backoff [Transient] Choice;

            /// A command could not connect.
            env_connection EnvConnection(Tool) "ENV_CONNECTION":
                Environment Network EnvError Backoff [Transient] Choice;
            /// A command waited too long for an answer.
            env_timeout EnvTimeout(Tool) "ENV_TIMEOUT":
                Environment Network EnvError Backoff [Transient] Choice;
            /// A command could not look up a host name.
            env_dns EnvDns(Tool) "ENV_DNS":
                Environment Network EnvError Backoff [Transient] Choice;
            /// A service that a command needs is down for the moment.
            env_unavailable EnvUnavailable(Tool) "ENV_UNAVAILABLE":
                Environment Network EnvError Backoff [Transient] Choice;
            /// The package registry is down for the moment.
            env_registry EnvRegistry(Tool) "ENV_REGISTRY":
                Environment Network EnvError Backoff [Transient] Choice;
            /// There is no room left on the disk.
            env_disk_full EnvDiskFull(Tool) "ENV_DISK_FULL":
                Environment Network EnvError RetryOnceAsk [Transient] Hands;
            /// A command was asked to slow down.
            tool_rate_limit ToolRateLimit(Tool) "TOOL_RATE_LIMIT":
                Environment Network EnvError Backoff [Transient] Choice;
            /// A tool died of its own bug.
            tool_crash ToolCrash(Crash) "TOOL_CRASH":
                Environment Network EnvError Backoff [Transient] Choice;
            /// A command was refused access.
            tool_access_denied ToolAccessDenied(Tool) "TOOL_ACCESS_DENIED":
                Environment Permission NeverRetry Ask [] Hands;
            /// A command ran into an account's limit or needs another plan.
            tool_quota ToolQuota(Tool) "TOOL_QUOTA":
                Environment Permission NeverRetry Ask [] Hands;
            /// A command does not exist here.
            tool_missing ToolMissing(Tool) "TOOL_MISSING":
                Environment Logic CodeError Replan [Signature Consecutive] Choice;
            /// A tool does not accept its configuration.
            tool_config ToolConfig(Tool) "TOOL_CONFIG":
                Environment Logic CodeError Replan [Signature Consecutive] Choice;
            /// Something the work needs does not exist.
            precondition_missing PreconditionMissing(Missing) "PRECONDITION_MISSING":
                Environment Precondition NeverRetry Ask [] Hands;
            /// The budget is used up.
            budget_exhausted BudgetExhausted(BudgetSpent) "BUDGET_EXHAUSTED":
                Environment Precondition NeverRetry Budget [] Paused;
            /// The agent needs a person's word.
            precondition_input PreconditionInput(Input) "PRECONDITION_INPUT":
                Environment Precondition NeverRetry Ask [] Choice;

            /// The code or a command failed.
            logic_error LogicError(Logic) "LOGIC_ERROR":
                Logic Logic CodeError Replan [Signature Consecutive] Choice;
            /// A tool was called with input it cannot use.
            logic_bad_input LogicBadInput(Logic) "LOGIC_BAD_INPUT":
                Logic Logic CodeError Replan [Signature Consecutive] Choice;
            /// An action came at a time when it is not allowed.
            logic_phase_violation LogicPhaseViolation(Logic) "LOGIC_PHASE_VIOLATION":
                Logic Logic CodeError Replan [Signature Consecutive] Choice;
            /// The run used up its steps.
            logic_limit LogicLimit(Limit) "LOGIC_LIMIT":
                Logic Logic CodeError ReplanHarder [Signature Consecutive] Choice;
            /// The agent goes in circles.
            logic_no_progress LogicNoProgress(NoProgress) "LOGIC_NO_PROGRESS":
                Logic Logic CodeError ReplanHarder [Signature Consecutive] Choice;
            /// The agent tried an approach that had already failed.
            logic_repeated_approach LogicRepeatedApproach(Repeated) "LOGIC_REPEATED_APPROACH":
                Logic Logic CodeError ReplanHarder [Signature Consecutive] Choice;

            /// Something inside Unstuck went wrong.
            internal_error InternalError(Internal) "INTERNAL_ERROR":
                Internal Internal NeverRetry TellOperator [] Ours;
            /// Unstuck's own records could not be read or written.
            internal_store InternalStore(Internal) "INTERNAL_STORE":
                Internal Internal NeverRetry TellOperator [] Ours;
        }
    };
}
pub(crate) use with_fault_table;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+
        $constructor:ident $variant:ident($context:ident) $tag:literal:
        $category:ident $error_type:ident $class:ident $reaction:ident
        [$($charge:ident)*] $asks:ident;)+) => {
        /// The code of a failure.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Code { $($(#[doc = $doc])+ #[serde(rename = $tag)] $variant,)+ }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name used on the wire, on pages and in file names.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $tag,)+ }
            }

            /// Returns one sentence that says what happened.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// Returns the code's row of the table.
            pub const fn row(self) -> &'static Row {
                match self {$(
                    Self::$variant => &Row {
                        category: Category::$category,
                        error_type: ErrorType::$error_type,
                        class: Class::$class,
                        reaction: Reaction::$reaction,
                        charges: &[$(Charge::$charge),*],
                        asks: Asks::$asks,
                    },
                )+}
            }
        }

        impl fmt::Display for Code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

with_fault_table!(codes);
