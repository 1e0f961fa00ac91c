//! What bodies look like. A new wire type gets a row here.

/// A JSON object. Members that are not listed may be there too.
pub(super) struct Schema {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    pub(super) nullable: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Uuid,
    Time,
    Integer,
    Number,
    Between(u64, u64),
    Boolean,
    Anything,
    Matching(&'static Pattern),
    OneOf(&'static [&'static str]),
    One(&'static str),
    Texts,
    Many(&'static str),
}

use super::patterns::{EMAIL, GIT_HASH, NAME, Pattern, SLUG, URL};
use Kind::{
    Anything, Between, Boolean, Integer, Many, Matching, Number, One, OneOf, Text, Texts, Time,
    Uuid,
};

/// Always there.
const fn is(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        required: true,
        nullable: false,
    }
}

/// Always there, and sometimes null.
const fn or_null(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        required: true,
        nullable: true,
    }
}

/// Sometimes not there.
const fn may(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        required: false,
        nullable: true,
    }
}

/// Sometimes not there, and never null.
const fn perhaps(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        required: false,
        nullable: false,
    }
}

const A_NAME: Kind = Matching(&NAME);
const A_SLUG: Kind = Matching(&SLUG);
const AN_EMAIL: Kind = Matching(&EMAIL);
const A_URL: Kind = Matching(&URL);
const COUNT: Kind = Between(0, u32::MAX as u64);
const SECONDS: Kind = Between(1, u32::MAX as u64);
const BYTES: Kind = Between(0, i64::MAX as u64);
const SOME_BYTES: Kind = Between(1, i64::MAX as u64);
const OS: Kind = OneOf(&["linux", "macos", "windows"]);
const ARCHITECTURE: Kind = OneOf(&["x86_64", "aarch64"]);
const ISOLATION: Kind = OneOf(&["namespace", "microvm", "firecracker"]);
const VISIBILITY: Kind = OneOf(&["public", "private"]);
const ROLE: Kind = OneOf(&["member", "leader"]);
const DIRECTION: Kind = OneOf(&["smaller_is_better", "larger_is_better"]);
const VERDICT: Kind = OneOf(&["faster", "slower", "same", "cannot_tell"]);
const LIMIT: Kind = OneOf(&["lower", "upper"]);
const ALERT: Kind = OneOf(&["active", "dismissed", "silenced"]);
const BLOCKER: Kind = OneOf(&[
    "none",
    "limit",
    "no_runner",
    "no_live_runner",
    "runners_busy",
]);
const RUNNER_STATE: Kind = OneOf(&["away", "idle", "busy"]);
pub(super) const PERMISSION: Kind = OneOf(&[
    "view",
    "create",
    "edit",
    "delete",
    "manage",
    "view_role",
    "create_role",
    "edit_role",
    "delete_role",
]);
const LEVEL: Kind = OneOf(&["free", "pro", "team", "enterprise"]);

macro_rules! schemas {
    ($($name:literal: [$($field:expr),* $(,)?];)*) => {
        pub(super) const SCHEMAS: &[Schema] = &[$(Schema { name: $name, fields: &[$($field),*] }),*];
    };
}

schemas! {
    "Error": [is("request_id", Text), may("error_code", Text), is("message", Text)];
    "RegistryErrors": [may("errors", Many("RegistryError")), may("error", Text), may("error_description", Text)];
    "RegistryError": [is("code", Text), is("message", Text), may("detail", Anything)];
    "ServerVersion": [is("version", Text)];
    "ConsoleConfig": [is("url", Text)];
    "ServerConfig": [
        is("console", One("ConsoleConfig")), is("database", Text), is("request_body_max_bytes", Integer),
        is("heartbeat_timeout", Integer), is("job_timeout_grace_period", Integer), is("rate_limits", Text),
    ];
    "ServerStats": [
        is("timestamp", Time), is("users", Integer), is("organizations", Integer), is("projects", Integer),
        is("reports", Integer), is("runners", Integer), is("specs", Integer), is("jobs", One("JobCounts")),
    ];
    "JobCounts": [is("pending", Integer), is("claimed", Integer), is("running", Integer), is("ended", Integer)];
    "AuditEntry": [
        is("number", Integer), is("at", Time), is("actor", Text), is("action", Text), is("subject", Text),
        may("detail", Text),
    ];
    "AdminKey": [is("key", Text)];
    "KernelStats": [
        is("inboxes", Anything), is("outbox", Integer), is("leases", Integer), is("timers", Integer),
        or_null("next_timer", Integer), is("now", Integer), is("dead_letters", Integer),
    ];
    "DeadLetter": [
        is("worker", Integer), is("seq", Integer), is("failure", Integer), is("attempts", Integer), is("frame", Text),
    ];
    "Replayed": [is("worker", Integer), is("seq", Integer)];
    "RegistryStats": [
        is("repositories", Integer), is("manifests", Integer), is("tags", Integer), is("blobs", Integer),
        is("blob_bytes", Integer), is("held_bytes", Integer), is("spare_blobs", Integer), is("uploads", Integer),
        is("upload_bytes", Integer),
    ];
    "CollectRequest": [may("older_than", Between(0, u64::MAX)), perhaps("untagged", Boolean), may("from", Text)];
    "Collected": [
        is("uploads", Integer), is("manifests", Integer), is("holdings", Integer), is("objects", Integer),
        is("bytes", Integer), may("next", Text),
    ];
    "VerifyRequest": [may("from", Text)];
    "Verified": [
        is("manifests", Integer), is("blobs", Integer), is("bytes", Integer), is("damaged", Many("Damaged")),
        may("next", Text),
    ];
    "Damaged": [is("digest", Text), is("what", Text)];
    "NewQuota": [or_null("quota", BYTES)];
    "Quota": [perhaps("bytes", BYTES), or_null("quota", BYTES)];
    "User": [
        is("uuid", Uuid), is("name", Text), is("slug", Text), is("email", Text), is("admin", Boolean),
        is("locked", Boolean), is("created", Time),
    ];
    "NewUser": [is("name", A_NAME), may("slug", A_SLUG), is("email", AN_EMAIL), perhaps("admin", Boolean)];
    "UpdateUser": [
        may("name", A_NAME), may("slug", A_SLUG), may("email", AN_EMAIL), may("admin", Boolean), may("locked", Boolean),
    ];
    "NewKey": [is("name", A_NAME), may("ttl", SECONDS)];
    "UpdateKey": [is("name", A_NAME)];
    "UserKey": [
        is("uuid", Uuid), is("user", Uuid), is("name", Text), is("creation", Time), is("expiration", Time),
        may("revoked", Time),
    ];
    "CreatedUserKey": [
        is("uuid", Uuid), is("user", Uuid), is("name", Text), is("key", Text), is("creation", Time),
        is("expiration", Time),
    ];
    "ProjectKey": [
        is("uuid", Uuid), is("project", Uuid), may("creator", Uuid), is("name", Text), is("creation", Time),
        is("expiration", Time), may("revoked", Time),
    ];
    "CreatedProjectKey": [
        is("uuid", Uuid), is("project", Uuid), is("name", Text), is("key", Text), is("creation", Time),
        is("expiration", Time),
    ];
    "NewToken": [is("name", A_NAME), may("ttl", SECONDS)];
    "Organization": [
        is("uuid", Uuid), is("name", Text), is("slug", Text), or_null("license", Text), is("created", Time),
        is("modified", Time), or_null("claimed", Time),
    ];
    "NewOrganization": [is("name", A_NAME), may("slug", A_SLUG)];
    "UpdateOrganization": [may("name", A_NAME), may("slug", A_SLUG)];
    "Usage": [
        is("organization", Uuid), is("kind", OneOf(&["self_hosted_free", "self_hosted_licensed"])), is("plan", One("Plan")),
        is("start_time", Time), is("end_time", Time), is("metrics", Integer), is("runner_minutes", Integer),
        is("active_series", Integer),
    ];
    "NewBackup": [perhaps("compress", Boolean), may("data_store", Text), perhaps("remove", Boolean)];
    "Backup": [is("created", Time), is("file", Text)];
    "Plan": [is("organization", Uuid), is("level", LEVEL), may("customer", Text)];
    "UpdatePlan": [may("level", LEVEL), may("customer", Text)];
    "Member": [is("uuid", Uuid), is("name", Text), is("slug", Text), is("email", Text), is("role", ROLE)];
    "NewMember": [is("email", AN_EMAIL), may("name", A_NAME), is("role", ROLE)];
    "UpdateMember": [is("role", ROLE)];
    "Invited": [is("email", Text)];
    "Allowed": [is("allowed", Boolean)];
    "Project": [
        is("uuid", Uuid), is("organization", Uuid), is("name", Text), is("slug", Text), or_null("url", Text),
        is("visibility", VISIBILITY), is("created", Time), is("modified", Time), or_null("claimed", Time),
    ];
    "NewProject": [is("name", A_NAME), may("slug", A_SLUG), may("url", A_URL), may("visibility", VISIBILITY)];
    "UpdateProject": [may("name", A_NAME), may("slug", A_SLUG), may("url", A_URL), may("visibility", VISIBILITY)];
    "Image": [is("repository", Text), may("tag", Text), may("digest", Text), may("modified", Time)];
    "Spec": [
        is("uuid", Uuid), is("name", Text), is("slug", Text), is("os", OS), is("architecture", ARCHITECTURE),
        or_null("sandbox", Text), is("cpu", Integer), is("memory", Integer), is("disk", Integer),
        is("network", Boolean), or_null("fallback", Time), is("created", Time), is("modified", Time),
        or_null("archived", Time), perhaps("shared", Boolean), perhaps("isolation", ISOLATION),
    ];
    "NewSpec": [
        is("name", A_NAME), may("slug", A_SLUG), is("os", OS), is("architecture", ARCHITECTURE), may("sandbox", OneOf(&["firecracker"])),
        is("cpu", Between(1, i32::MAX as u64)), is("memory", SOME_BYTES), is("disk", SOME_BYTES), perhaps("network", Boolean),
        perhaps("fallback", Boolean), perhaps("shared", Boolean), may("isolation", ISOLATION),
    ];
    "UpdateSpec": [may("name", A_NAME), may("slug", A_SLUG), may("fallback", Boolean), may("archived", Boolean)];
    "SpecRef": [is("spec", Text)];
    "Runner": [
        is("uuid", Uuid), is("name", Text), is("slug", Text), is("specs", Texts), or_null("archived", Time),
        or_null("last_heartbeat", Time), is("created", Time), is("modified", Time), may("state", RUNNER_STATE),
        may("draining", Time), may("metadata", One("RunnerMetadata")),
    ];
    "RunnerMetadata": [
        is("os", Text), is("arch", Text), is("version", Text), may("channel", Text), may("checksum", Text),
        may("host", One("HostFacts")), may("slots", Integer),
    ];
    "HostFacts": [
        is("name", Text), is("kernel", Text), is("cpus", Integer), is("memory_bytes", Integer), is("isolation", Text),
        is("backend", Text),
    ];
    "NewRunner": [is("name", A_NAME), may("slug", A_SLUG)];
    "UpdateRunner": [may("name", A_NAME), may("slug", A_SLUG), may("archived", Boolean), may("draining", Boolean)];
    "RunnerKey": [is("uuid", Uuid), is("key", Text)];
    "RunnerToken": [is("uuid", Uuid), is("token", Text)];
    "NewRun": [
        may("project", Text), may("idempotency_key", Uuid), may("branch", Text), may("hash", Matching(&GIT_HASH)),
        may("start_point", One("StartPoint")), may("testbed", Text), may("spec_reset", Boolean), may("thresholds", One("RunThresholds")),
        may("start_time", Time), may("end_time", Time), may("results", Texts), may("settings", Anything),
        may("context", Anything), may("job", One("NewRunJob")), may("image", Text), may("spec", Text),
    ];
    "NewRunJob": [
        is("image", Text), may("spec", Text), may("entrypoint", Texts), may("cmd", Texts), may("env", Anything),
        may("timeout", SECONDS), may("file_paths", Texts), may("iter", COUNT), may("allow_failure", Boolean),
        may("build_time", Boolean), may("file_size", Boolean), may("backdate", Time), may("paired", One("NewPaired")),
    ];
    "NewPaired": [is("image", Text), may("pairs", Integer), may("gate", Number), may("measure", Text)];
    "Job": [
        is("uuid", Uuid), is("status", Text), is("spec", One("Spec")), may("config", Anything), or_null("runner", Uuid),
        or_null("claimed", Time), or_null("started", Time), or_null("completed", Time), is("created", Time),
        is("modified", Time), may("output", One("JobOutput")), may("error", Text), may("retry_of", Uuid),
    ];
    "Waiting": [
        is("status", Text), is("blocker", BLOCKER), is("detail", Text), may("position", Integer),
        may("estimate_seconds", Integer),
    ];
    "ClaimRequest": [may("poll_timeout", SECONDS)];
    "PullToken": [is("oci_token", Text)];
    "JobOutput": [is("results", Many("IterationOutput")), may("error", Text), may("conditions", One("Conditions")), may("large", One("LargeOutput"))];
    "Conditions": [
        may("isolation", Text), may("backend", Text), may("layers", Many("SealedLayer")), may("image", Text), may("cached", Boolean),
        may("stages", Anything), may("iterations", Many("IterationUsage")), may("truncated", Anything),
        may("noise", Anything), may("shared", Boolean), may("paired", Anything),
    ];
    "SealedLayer": [is("name", Text), is("applied", Boolean), may("detail", Text)];
    "IterationUsage": [
        may("ended", Text), may("signal", Integer), may("wall_us", Integer), may("user_us", Integer),
        may("system_us", Integer), may("peak_resident_bytes", Integer), may("minor_faults", Integer),
        may("major_faults", Integer), may("voluntary_switches", Integer), may("involuntary_switches", Integer),
        may("peak_memory_bytes", Integer), may("throttled_us", Integer), may("oom_kills", Integer),
        may("steal_us", Integer), may("pressure", Anything), may("frequency", Anything), may("cpu_samples", Anything),
    ];
    "LargeOutput": [is("digest", Text), is("size", Integer), is("texts", Many("LargeText"))];
    "LargeText": [is("iteration", Integer), is("stream", OneOf(&["stdout", "stderr", "file"])), may("path", Text), is("start", Integer), is("size", Integer)];
    "UploadProgress": [is("received", Integer), is("complete", Boolean)];
    "IterationOutput": [is("exit_code", Integer), may("stdout", Text), may("stderr", Text), may("output", Anything)];
    "JobEvent": [
        is("number", Integer), is("event", Text), may("from", Text), may("to", Text), is("epoch", Integer),
        is("actor", Text), may("detail", Text), is("at", Time),
    ];
    "Report": [
        is("uuid", Uuid), or_null("user", Anything), is("project", One("Project")), is("branch", One("Branch")),
        is("testbed", One("Testbed")), is("start_time", Time), is("end_time", Time), is("adapter", Text),
        may("results", Anything), may("alerts", Many("Alert")), is("counts", One("ReportCounts")), may("job", Uuid),
        is("created", Time), may("status", Text), may("error", Text), may("paired", One("PairedOutcome")),
    ];
    "PairedOutcome": [
        is("verdict", VERDICT), is("pairs", Integer), is("asked", Integer), is("stopped_early", Boolean),
        is("self_check", Boolean), is("gate", Number), is("error_rate", Number), is("lines", Many("PairedLine")),
    ];
    "PairedLine": [
        is("benchmark", Text), is("measure", Text), is("decides", Boolean), is("verdict", VERDICT), may("effect", Number),
        may("interval", Anything), may("noise", Number), may("correlation", Number), may("left_out", Text),
    ];
    "ReportCounts": [is("results", Many("ResultCounts")), is("alerts", One("AlertCounts"))];
    "ResultCounts": [is("benchmarks", Integer), is("measures", Integer)];
    "AlertCounts": [is("total", Integer), is("active", Integer)];
    "NewReport": [
        is("branch", Text), may("hash", Text), may("start_point", One("StartPoint")), is("testbed", Text),
        may("thresholds", One("RunThresholds")), is("start_time", Time), is("end_time", Time), is("results", Texts),
        may("settings", Anything),
    ];
    "StartPoint": [
        may("branch", Text), may("hash", Text), may("max_versions", Integer), may("clone_thresholds", Boolean),
        may("reset", Boolean),
    ];
    "RunThresholds": [may("models", Anything), may("reset", Boolean)];
    "Branch": [
        is("uuid", Uuid), is("project", Uuid), is("name", Text), is("slug", Text), is("head", One("Head")),
        is("created", Time), is("modified", Time), or_null("archived", Time),
    ];
    "Head": [
        is("uuid", Uuid), or_null("start_point", One("HeadStart")), or_null("version", One("Version")),
        is("created", Time), or_null("replaced", Time),
    ];
    "HeadStart": [is("branch", Uuid), is("head", Uuid), is("version", One("Version"))];
    "Version": [is("number", Integer), or_null("hash", Text)];
    "NewBranch": [is("name", Text), may("slug", Text), may("start_point", One("StartPoint"))];
    "Testbed": [
        is("uuid", Uuid), is("project", Uuid), is("name", Text), is("slug", Text), or_null("spec", One("Spec")),
        is("created", Time), is("modified", Time), or_null("archived", Time),
    ];
    "NewTestbed": [is("name", Text), may("slug", Text), may("spec", Text)];
    "Benchmark": [
        is("uuid", Uuid), is("project", Uuid), is("name", Text), is("slug", Text), is("created", Time),
        is("modified", Time), or_null("archived", Time),
    ];
    "NewBenchmark": [is("name", Text), may("slug", Text)];
    "Measure": [
        is("uuid", Uuid), is("project", Uuid), is("name", Text), is("slug", Text), is("units", Text),
        may("direction", DIRECTION), is("created", Time), is("modified", Time), or_null("archived", Time),
    ];
    "NewMeasure": [is("name", Text), may("slug", Text), is("units", Text), may("direction", DIRECTION)];
    "BranchPatch": [may("name", Text), may("slug", Text), may("archived", Boolean), may("start_point", One("StartPoint"))];
    "TestbedPatch": [may("name", Text), may("slug", Text), may("archived", Boolean), may("spec", Text)];
    "BenchmarkPatch": [may("name", Text), may("slug", Text), may("archived", Boolean)];
    "MeasurePatch": [
        may("name", Text), may("slug", Text), may("archived", Boolean), may("units", Text), may("direction", DIRECTION),
    ];
    "Threshold": [
        is("uuid", Uuid), is("project", Uuid), is("branch", One("Branch")), is("testbed", One("Testbed")),
        is("measure", One("Measure")), may("benchmark", One("Benchmark")), or_null("model", One("Model")),
        is("created", Time), is("modified", Time),
    ];
    "ThresholdSummary": [
        is("uuid", Uuid), is("project", Uuid), or_null("model", One("Model")), is("created", Time),
    ];
    "Model": [
        is("uuid", Uuid), is("threshold", Uuid), is("test", Text), or_null("min_sample_size", Integer),
        or_null("max_sample_size", Integer), or_null("window", Integer), or_null("lower_boundary", Number),
        or_null("upper_boundary", Number), may("min_effect", Number), may("false_discovery_rate", Number),
        may("ignore", Texts), is("created", Time), or_null("replaced", Time),
    ];
    "NewThreshold": [
        is("branch", Text), is("testbed", Text), is("measure", Text), may("benchmark", Text), is("test", Text),
        may("min_sample_size", Integer), may("max_sample_size", Integer), may("window", Integer),
        may("lower_boundary", Number), may("upper_boundary", Number), may("min_effect", Number),
        may("false_discovery_rate", Number), may("ignore", Texts),
    ];
    "ThresholdUpdate": [
        or_null("test", Text), may("min_sample_size", Integer), may("max_sample_size", Integer),
        may("window", Integer), may("lower_boundary", Number), may("upper_boundary", Number),
        may("min_effect", Number), may("false_discovery_rate", Number), may("ignore", Texts),
    ];
    "Boundary": [or_null("baseline", Number), or_null("lower_limit", Number), or_null("upper_limit", Number)];
    "StoredMetric": [
        is("uuid", Uuid), is("value", Number), or_null("lower_value", Number), or_null("upper_value", Number),
    ];
    "Alert": [
        is("uuid", Uuid), is("report", Uuid), is("iteration", Integer), is("benchmark", One("Benchmark")),
        is("metric", One("StoredMetric")), is("threshold", One("Threshold")), is("boundary", One("Boundary")),
        is("limit", LIMIT), is("status", ALERT), is("created", Time), is("modified", Time),
    ];
    "AlertSummary": [is("uuid", Uuid), is("limit", LIMIT), is("status", ALERT), is("modified", Time)];
    "AlertPatch": [may("status", ALERT)];
    "OneMetric": [
        is("uuid", Uuid), is("report", Uuid), is("iteration", Integer), is("start_time", Time), is("end_time", Time),
        is("branch", One("Branch")), is("testbed", One("Testbed")), is("benchmark", One("Benchmark")),
        is("measure", One("Measure")), is("metric", One("StoredMetric")),
        or_null("threshold", One("ThresholdSummary")), or_null("boundary", One("Boundary")),
        or_null("alert", One("AlertSummary")),
    ];
    "Perf": [
        is("project", One("Project")), or_null("start_time", Time), or_null("end_time", Time),
        is("results", Many("PerfLine")),
    ];
    "PerfLine": [
        is("branch", One("Branch")), is("testbed", One("Testbed")), is("benchmark", One("Benchmark")),
        is("measure", One("Measure")), is("metrics", Many("PerfMetric")), may("change_points", Many("ChangePoint")),
    ];
    "PerfMetric": [
        is("report", Uuid), is("iteration", Integer), is("start_time", Time), is("end_time", Time),
        is("version", One("Version")), or_null("threshold", One("ThresholdSummary")),
        is("metric", One("StoredMetric")), or_null("boundary", One("Boundary")), or_null("alert", One("AlertSummary")),
    ];
    "ChangePoint": [is("index", Integer), is("before", Number), is("after", Number), is("probability", Number)];
    "CompareReport": [
        is("project", Uuid), is("base", Texts), is("head", Texts), is("gate", Number),
        is("results", Many("CompareLine")), is("left_out", Many("NotCompared")),
    ];
    "NotCompared": [
        is("testbed", Uuid), is("benchmark", Text), is("measure", Text),
        is("reason", OneOf(&["only_base", "only_head", "not_positive"])),
    ];
    "CompareLine": [
        is("testbed", Uuid), is("benchmark", Text), is("measure", Text), is("units", Text),
        is("base_count", Integer), is("head_count", Integer), is("base_value", Number), is("head_value", Number),
        is("effect", Number), or_null("low", Number), or_null("high", Number), or_null("detectable", Number),
        is("verdict", OneOf(&["faster", "slower", "same", "cannot_tell"])),
    ];
    "Plot": [
        is("uuid", Uuid), is("project", Uuid), or_null("title", Text), is("lower_value", Boolean),
        is("upper_value", Boolean), is("lower_boundary", Boolean), is("upper_boundary", Boolean), is("x_axis", Text),
        is("y_axis", Text), is("window", Integer), is("branches", Texts), is("testbeds", Texts),
        is("benchmarks", Texts), is("measures", Texts), is("created", Time), is("modified", Time),
    ];
    "NewPlot": [
        may("index", Integer), may("title", Text), is("lower_value", Boolean), is("upper_value", Boolean),
        is("lower_boundary", Boolean), is("upper_boundary", Boolean), is("x_axis", Text), may("y_axis", Text),
        is("window", Integer), is("branches", Texts), is("testbeds", Texts), is("benchmarks", Texts),
        is("measures", Texts),
    ];
    "PlotPatch": [may("index", Integer), may("title", Text), may("window", Integer)];
    "RegistryToken": [may("token", Text), may("access_token", Text), is("expires_in", Integer), is("issued_at", Time)];
}
