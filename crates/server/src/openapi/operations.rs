//! What can be asked. A new route gets a row here; a test says so when it does not.

pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The name of the handler.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// The schema of the request's body.
    pub(super) body: Option<&'static str>,
    pub(super) status: u16,
    pub(super) answer: Answer,
}

#[derive(Clone, Copy)]
pub(super) enum Answer {
    Nothing,
    Text,
    Picture,
    Program,
    Socket,
    Anything,
    One(&'static str),
    All(&'static str),
    /// A part of a list, with how long it is in a header.
    Page(&'static str),
}

use Answer::{All, Anything, Nothing, One, Page, Picture, Program, Socket, Text};

macro_rules! operations {
    ($($method:ident $path:literal $id:ident ($($body:literal)?) -> $status:literal $answer:expr, $summary:literal;)*) => {
        pub(super) const OPERATIONS: &[Operation] = &[$(Operation {
            method: stringify!($method),
            path: $path,
            id: stringify!($id),
            summary: $summary,
            body: operations!(@body $($body)?),
            status: $status,
            answer: $answer,
        }),*];
    };
    (@body) => { None };
    (@body $body:literal) => { Some($body) };
}

operations! {
    get "/healthz" healthz () -> 200 Text, "Answers once the store does";
    get "/metrics" get_metrics () -> 200 Text, "Counters and gauges for Prometheus";
    get "/v0/server/version" version () -> 200 One("ServerVersion"), "The server's version";
    get "/v0/server/spec" get_openapi () -> 200 Anything, "This document";
    get "/v0/server/config" get_config () -> 200 One("ServerConfig"), "What is configured, without secrets";
    get "/v0/server/config/console" get_console_config () -> 200 One("ConsoleConfig"), "Where the console is";
    get "/v0/server/stats" get_stats () -> 200 One("ServerStats"), "How much there is of everything";
    get "/v0/server/audit" list_audit () -> 200 Page("AuditEntry"), "Administrative changes, the newest first";
    post "/v0/server/backup" create_backup ("NewBackup") -> 201 One("Backup"), "A copy of the database, in the server's directory of backups";
    post "/v0/server/keys" create_admin_key () -> 201 One("AdminKey"), "Another key for the administrator";
    get "/v0/server/kernel" get_kernel_stats () -> 200 One("KernelStats"), "What the kernel holds";
    get "/v0/server/kernel/dead-letters" list_dead_letters () -> 200 All("DeadLetter"), "Frames that spent their budget";
    delete "/v0/server/kernel/dead-letters" drain_dead_letters () -> 200 All("DeadLetter"), "Remove and answer them";
    get "/v0/server/kernel/dead-letters/{worker}/{seq}" get_dead_letter () -> 200 One("DeadLetter"), "One of them";
    post "/v0/server/kernel/dead-letters/{worker}/{seq}/replay" replay_dead_letter () -> 200 One("Replayed"), "Put one back";
    get "/v0/server/releases/{release}/{name}" get_release () -> 200 Program, "A program that runners update themselves to";
    get "/v0/server/registry" get_registry_stats () -> 200 One("RegistryStats"), "What the registry holds";
    post "/v0/server/registry/gc" collect_registry ("CollectRequest") -> 200 One("Collected"), "Let go of a page of what nobody needs";
    post "/v0/server/registry/verify" verify_registry ("VerifyRequest") -> 200 One("Verified"), "Read a page of it again and compare digests";
    get "/v0/server/registry/quotas/{project}" get_quota () -> 200 One("Quota"), "What a project uses and may";
    put "/v0/server/registry/quotas/{project}" set_quota ("NewQuota") -> 200 One("Quota"), "Change what it may";

    post "/v0/auth/signup" sign_up () -> 202 Nothing, "Always refused: administrators make people known";
    post "/v0/auth/login" log_in () -> 202 Nothing, "Always refused: people have keys";
    post "/v0/auth/confirm" confirm_login () -> 200 Nothing, "Always refused: people have keys";
    post "/v0/auth/accept" accept_invite () -> 202 Nothing, "Always refused: who is invited is a member at once";
    get "/v0/auth/github" get_github_url () -> 200 Nothing, "Always refused: people have keys";
    post "/v0/auth/github" log_in_with_github () -> 200 Nothing, "Always refused: people have keys";
    get "/v0/auth/google" get_google_url () -> 200 Nothing, "Always refused: people have keys";
    post "/v0/auth/google" log_in_with_google () -> 200 Nothing, "Always refused: people have keys";
    post "/v0/checkout" check_out () -> 201 Nothing, "Always refused: nothing is sold here";

    get "/v0/users" list_users () -> 200 Page("User"), "All people, for administrators";
    post "/v0/users" create_user ("NewUser") -> 201 One("User"), "A new person, by an administrator";
    get "/v0/users/{user}" get_user () -> 200 One("User"), "A person";
    patch "/v0/users/{user}" update_user ("UpdateUser") -> 200 One("User"), "Change a person";
    get "/v0/users/{user}/keys" list_user_keys () -> 200 Page("UserKey"), "A person's keys";
    post "/v0/users/{user}/keys" create_user_key ("NewKey") -> 201 One("CreatedUserKey"), "Another key, shown once";
    get "/v0/users/{user}/keys/{key}" get_user_key () -> 200 One("UserKey"), "A key, without the key itself";
    patch "/v0/users/{user}/keys/{key}" update_user_key ("UpdateKey") -> 200 One("UserKey"), "Rename a key";
    delete "/v0/users/{user}/keys/{key}" revoke_user_key () -> 204 Nothing, "Revoke a key at once";
    get "/v0/users/{user}/tokens" list_tokens () -> 200 All("UserKey"), "Always empty: tokens are a thing of the past";
    post "/v0/users/{user}/tokens" create_token ("NewToken") -> 201 Nothing, "Always refused: make a key";

    get "/v0/organizations" list_organizations () -> 200 Page("Organization"), "The caller's organizations";
    post "/v0/organizations" create_organization ("NewOrganization") -> 201 One("Organization"), "A new organization, led by the caller";
    get "/v0/organizations/{organization}" get_organization () -> 200 One("Organization"), "An organization";
    patch "/v0/organizations/{organization}" update_organization ("UpdateOrganization") -> 200 One("Organization"), "Change an organization";
    delete "/v0/organizations/{organization}" delete_organization () -> 204 Nothing, "Delete it with its projects";
    post "/v0/organizations/{organization}/claim" claim_organization () -> 201 One("Organization"), "Lead what nobody has claimed";
    get "/v0/organizations/{organization}/allowed/{permission}" get_organization_allowed () -> 200 One("Allowed"), "Whether the caller may";
    get "/v0/organizations/{organization}/plan" get_plan () -> 200 One("Plan"), "What it is entitled to";
    patch "/v0/organizations/{organization}/plan" update_plan ("UpdatePlan") -> 200 One("Plan"), "Change that, by an administrator";
    post "/v0/organizations/{organization}/plan" create_plan ("UpdatePlan") -> 201 One("Plan"), "The same";
    delete "/v0/organizations/{organization}/plan" delete_plan () -> 204 Nothing, "Back to what organizations begin with";
    get "/v0/organizations/{organization}/usage" get_usage () -> 200 One("Usage"), "What it used, this month or from `start_time` to `end_time`";
    get "/v0/organizations/{organization}/sso" list_sso () -> 200 All("UserKey"), "Always empty: people have keys";
    post "/v0/organizations/{organization}/sso" create_sso () -> 201 Nothing, "Always refused: people have keys";
    get "/v0/organizations/{organization}/sso/{domain}" get_sso () -> 200 Nothing, "There is none";
    delete "/v0/organizations/{organization}/sso/{domain}" delete_sso () -> 204 Nothing, "There is none";
    get "/v0/organizations/{organization}/members" list_members () -> 200 Page("Member"), "Who belongs to it";
    post "/v0/organizations/{organization}/members" create_member ("NewMember") -> 202 One("Invited"), "Make somebody a member";
    get "/v0/organizations/{organization}/members/{user}" get_member () -> 200 One("Member"), "A member";
    patch "/v0/organizations/{organization}/members/{user}" update_member ("UpdateMember") -> 200 One("Member"), "Change a member's role";
    delete "/v0/organizations/{organization}/members/{user}" delete_member () -> 204 Nothing, "Remove a member";
    get "/v0/organizations/{organization}/projects" list_organization_projects () -> 200 Page("Project"), "Its projects";
    post "/v0/organizations/{organization}/projects" create_project ("NewProject") -> 201 One("Project"), "A new project";

    get "/v0/projects" list_projects () -> 200 Page("Project"), "What is public, and what is the caller's";
    get "/v0/projects/{project}" get_project () -> 200 One("Project"), "A project";
    patch "/v0/projects/{project}" update_project ("UpdateProject") -> 200 One("Project"), "Change a project";
    delete "/v0/projects/{project}" delete_project () -> 204 Nothing, "Cancel its live jobs and hide it";
    get "/v0/projects/{project}/allowed/{permission}" get_project_allowed () -> 200 One("Allowed"), "Whether the caller may";
    get "/v0/projects/{project}/keys" list_project_keys () -> 200 Page("ProjectKey"), "A project's keys";
    post "/v0/projects/{project}/keys" create_project_key ("NewKey") -> 201 One("CreatedProjectKey"), "Another key, shown once";
    get "/v0/projects/{project}/keys/{key}" get_project_key () -> 200 One("ProjectKey"), "A key, without the key itself";
    patch "/v0/projects/{project}/keys/{key}" update_project_key ("UpdateKey") -> 200 One("ProjectKey"), "Rename a key";
    delete "/v0/projects/{project}/keys/{key}" revoke_project_key () -> 204 Nothing, "Revoke a key at once";
    get "/v0/projects/{project}/specs" list_project_specs () -> 200 Page("Spec"), "What a run may ask for";
    get "/v0/projects/{project}/specs/{spec}" get_project_spec () -> 200 One("Spec"), "One of these";
    get "/v0/projects/{project}/images" list_images () -> 200 Page("Image"), "The tags of all its repositories";
    get "/v0/projects/{project}/jobs" list_jobs () -> 200 Page("Job"), "A project's jobs, the newest first";
    get "/v0/projects/{project}/jobs/{job}" get_job () -> 200 One("Job"), "A job and, at its end, its output";
    post "/v0/projects/{project}/jobs/{job}/cancel" cancel_job () -> 200 One("Job"), "Cancel a job";
    get "/v0/projects/{project}/jobs/{job}/events" list_events () -> 200 All("JobEvent"), "What happened to a job; live as `text/event-stream`, with what it writes where `output=true`";
    get "/v0/projects/{project}/jobs/{job}/output/{iteration}/{stream}" get_output () -> 200 Text, "A text that a job wrote, or with `Range` a part of it; `stream` is stdout, stderr or file, with the file's `path` in the query";
    post "/v0/projects/{project}/jobs/{job}/retry" retry_job () -> 201 One("Job"), "Do an ended job again, as a new job";
    get "/v0/projects/{project}/jobs/{job}/why" explain_job () -> 200 One("Waiting"), "Why a job waits";
    get "/v0/projects/{project}/reports" list_reports () -> 200 Page("Report"), "A project's reports, the newest first";
    post "/v0/projects/{project}/reports" create_report ("NewReport") -> 201 One("Report"), "Results that the client measured itself";
    get "/v0/projects/{project}/reports/{report}" get_report () -> 200 One("Report"), "A report";
    delete "/v0/projects/{project}/reports/{report}" delete_report () -> 204 Nothing, "Delete a report with its metrics and alerts";
    get "/v0/projects/{project}/branches" list_branches () -> 200 Page("Branch"), "A project's branches";
    post "/v0/projects/{project}/branches" create_branch ("NewBranch") -> 201 One("Branch"), "A new branch";
    get "/v0/projects/{project}/branches/{branch}" get_branch () -> 200 One("Branch"), "A branch with its head, or with the one that `head` in the query names";
    patch "/v0/projects/{project}/branches/{branch}" update_branch ("BranchPatch") -> 200 One("Branch"), "Change or archive it";
    delete "/v0/projects/{project}/branches/{branch}" delete_branch () -> 204 Nothing, "Delete one that nothing was measured with";
    get "/v0/projects/{project}/testbeds" list_testbeds () -> 200 Page("Testbed"), "A project's testbeds";
    post "/v0/projects/{project}/testbeds" create_testbed ("NewTestbed") -> 201 One("Testbed"), "A new testbed";
    get "/v0/projects/{project}/testbeds/{testbed}" get_testbed () -> 200 One("Testbed"), "A testbed, with another spec where `spec` in the query names one";
    patch "/v0/projects/{project}/testbeds/{testbed}" update_testbed ("TestbedPatch") -> 200 One("Testbed"), "Change or archive it";
    delete "/v0/projects/{project}/testbeds/{testbed}" delete_testbed () -> 204 Nothing, "Delete one that nothing was measured with";
    get "/v0/projects/{project}/benchmarks" list_benchmarks () -> 200 Page("Benchmark"), "A project's benchmarks";
    post "/v0/projects/{project}/benchmarks" create_benchmark ("NewBenchmark") -> 201 One("Benchmark"), "A new benchmark";
    get "/v0/projects/{project}/benchmarks/{benchmark}" get_benchmark () -> 200 One("Benchmark"), "A benchmark";
    patch "/v0/projects/{project}/benchmarks/{benchmark}" update_benchmark ("BenchmarkPatch") -> 200 One("Benchmark"), "Change or archive it";
    delete "/v0/projects/{project}/benchmarks/{benchmark}" delete_benchmark () -> 204 Nothing, "Delete one that nothing was measured with";
    get "/v0/projects/{project}/measures" list_measures () -> 200 Page("Measure"), "A project's measures";
    post "/v0/projects/{project}/measures" create_measure ("NewMeasure") -> 201 One("Measure"), "A new measure";
    get "/v0/projects/{project}/measures/{measure}" get_measure () -> 200 One("Measure"), "A measure";
    patch "/v0/projects/{project}/measures/{measure}" update_measure ("MeasurePatch") -> 200 One("Measure"), "Change or archive it";
    delete "/v0/projects/{project}/measures/{measure}" delete_measure () -> 204 Nothing, "Delete one that nothing was measured with";
    get "/v0/projects/{project}/thresholds" list_thresholds () -> 200 Page("Threshold"), "A project's thresholds";
    post "/v0/projects/{project}/thresholds" create_threshold ("NewThreshold") -> 201 One("Threshold"), "A new threshold";
    get "/v0/projects/{project}/thresholds/{threshold}" get_threshold () -> 200 One("Threshold"), "A threshold with its model, or an earlier one";
    put "/v0/projects/{project}/thresholds/{threshold}" update_threshold ("ThresholdUpdate") -> 200 One("Threshold"), "Replace its model";
    delete "/v0/projects/{project}/thresholds/{threshold}" delete_threshold () -> 204 Nothing, "Delete it with its alerts";
    get "/v0/projects/{project}/alerts" list_alerts () -> 200 Page("Alert"), "A project's alerts, the newest first";
    get "/v0/projects/{project}/alerts/{alert}" get_alert () -> 200 One("Alert"), "An alert";
    patch "/v0/projects/{project}/alerts/{alert}" update_alert ("AlertPatch") -> 200 One("Alert"), "Dismiss or silence it, or make it active again";
    get "/v0/projects/{project}/metrics/{metric}" get_metric () -> 200 One("OneMetric"), "A metric with everything about it";
    get "/v0/projects/{project}/perf" get_perf () -> 200 One("Perf"), "Metrics over time; CSV where `format=csv`";
    get "/v0/projects/{project}/perf/img" get_perf_img () -> 200 Picture, "The same as a picture";
    get "/v0/projects/{project}/compare" get_comparison () -> 200 One("CompareReport"), "Two reports, commits or branches, benchmark by benchmark";
    get "/v0/projects/{project}/plots" list_plots () -> 200 Page("Plot"), "The plots that a project keeps";
    post "/v0/projects/{project}/plots" create_plot ("NewPlot") -> 201 One("Plot"), "A new plot";
    get "/v0/projects/{project}/plots/{plot}" get_plot () -> 200 One("Plot"), "A plot";
    patch "/v0/projects/{project}/plots/{plot}" update_plot ("PlotPatch") -> 200 One("Plot"), "Change or move a plot";
    delete "/v0/projects/{project}/plots/{plot}" delete_plot () -> 204 Nothing, "Delete a plot";
    post "/v0/run" submit_run ("NewRun") -> 201 One("Report"), "Submit a run";

    get "/v0/runners" list_runners () -> 200 Page("Runner"), "All runners";
    post "/v0/runners" create_runner ("NewRunner") -> 201 One("RunnerKey"), "Register a runner; its key is shown once";
    get "/v0/runners/{runner}" get_runner () -> 200 One("Runner"), "A runner";
    patch "/v0/runners/{runner}" update_runner ("UpdateRunner") -> 200 One("Runner"), "Change or archive a runner";
    post "/v0/runners/{runner}/key" rotate_key () -> 201 One("RunnerKey"), "Another key; the old credential is dead";
    post "/v0/runners/{runner}/token" rotate_token () -> 201 One("RunnerToken"), "Another token; the old credential is dead";
    get "/v0/runners/{runner}/specs" list_runner_specs () -> 200 All("Spec"), "What a runner serves";
    post "/v0/runners/{runner}/specs" add_runner_spec ("SpecRef") -> 201 One("Spec"), "Let it serve another spec";
    delete "/v0/runners/{runner}/specs/{spec}" remove_runner_spec () -> 204 Nothing, "Let it no longer serve one";
    get "/v0/runners/{runner}/channel" open_channel () -> 101 Socket, "A runner's channel; or, with `slot` and `slots` in the query, that of one slot of a runner with several";
    post "/v0/runners/{runner}/jobs" claim_job ("ClaimRequest") -> 200 Anything, "The next job, or null when none came in time";
    get "/v0/runners/{runner}/jobs/{job}" open_job_channel () -> 101 Socket, "A channel for one claimed job";
    post "/v0/runners/{runner}/jobs/{job}/token" renew_pull_token () -> 200 One("PullToken"), "Another token for the job's image";
    get "/v0/runners/{runner}/jobs/{job}/output/{digest}" get_upload_progress () -> 200 One("UploadProgress"), "How far the upload of an output has come that does not fit into a message";
    put "/v0/runners/{runner}/jobs/{job}/output/{digest}" put_upload_chunk () -> 200 One("UploadProgress"), "Its next chunk; `start`, the `size` of the whole and the digest of this `chunk` in the query";
    post "/v0/runners/{runner}/jobs/{job}/output/{digest}" finish_upload () -> 200 One("UploadProgress"), "Check and keep the whole";
    get "/v0/specs" list_specs () -> 200 Page("Spec"), "All specs";
    post "/v0/specs" create_spec ("NewSpec") -> 201 One("Spec"), "A new spec";
    get "/v0/specs/{spec}" get_spec () -> 200 One("Spec"), "A spec";
    patch "/v0/specs/{spec}" update_spec ("UpdateSpec") -> 200 One("Spec"), "Rename or archive a spec, or make it the fallback";
    delete "/v0/specs/{spec}" delete_spec () -> 204 Nothing, "Delete a spec that nothing refers to";

    get "/v0/auth/oci/token" get_token () -> 200 One("RegistryToken"), "A token for the registry";
    post "/v0/auth/oci/token" post_token () -> 200 One("RegistryToken"), "The same, asked for with a form";
    get "/v2" ping () -> 200 Anything, "Whether this is a registry, and knows the caller";
    get "/v2/" ping_with_slash () -> 200 Anything, "The same";
    get "/v2/{path}" registry_get () -> 200 Anything, "OCI distribution 1.1, which describes what is below";
    head "/v2/{path}" registry_head () -> 200 Nothing, "OCI distribution 1.1";
    post "/v2/{path}" registry_post () -> 202 Nothing, "OCI distribution 1.1";
    put "/v2/{path}" registry_put () -> 201 Nothing, "OCI distribution 1.1";
    patch "/v2/{path}" registry_patch () -> 202 Nothing, "OCI distribution 1.1";
    delete "/v2/{path}" registry_delete () -> 202 Nothing, "OCI distribution 1.1";
}
